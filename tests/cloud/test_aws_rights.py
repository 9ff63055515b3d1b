"""The printed policy against the rights that AWS's service reference documents: all that diskbench
does is allowed by it, and nothing in it can be taken away."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from emulators.aws.policies import Demand, allows
from emulators.aws.server import fresh
from tests.cloud.rented import REGION, Aws
from tests.contract.rented import AwsCloud

from diskbench.errors import AccessDenied, DiskbenchError
from diskbench.model.rental import Acquired, LeaseEnd, Scope
from diskbench.providers.aws.client import AwsSessions
from diskbench.providers.aws.policy import policy
from diskbench.testing.rig import RigOnlooker, acquire, claim, guest_of, resolved, scope_of

KEY = "arn:aws:kms:us-east-1:123456789012:key/1234"
LEASE = "one"
NEVER_SEEN = {
    ("UseRunInstances", "ec2:RunInstances", "arn:aws:ec2:*:*:placement-group/*"):
        "only with --placement",
    ("UseCreateVolume", "ec2:CreateVolume", "arn:aws:ec2:*:*:snapshot/*"):
        "only with --from-snapshot",
    ("UseRunInstances", "ec2:RunInstances", "arn:aws:ec2:*:*:snapshot/*"):
        "for images whose disks EC2 authorizes by their snapshots; the emulator's have none",
}  # fmt: skip


def every_right() -> list[tuple[str, str, str]]:
    """Statement, action and resource of everything that the policy allows."""
    return [
        (statement["Sid"], action, resource)
        for statement in json.loads(policy())["Statement"]
        for action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
    ]


def as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def without(sid: str, action: str, resource: str) -> str:
    """The policy with one right taken away."""
    document = json.loads(policy())
    kept: list[dict[str, Any]] = []
    for statement in document["Statement"]:
        if statement["Sid"] != sid:
            kept.append(statement)
            continue
        others = [one for one in as_list(statement["Action"]) if one != action]
        rest = [one for one in as_list(statement["Resource"]) if one != resource]
        if others:
            kept.append({**statement, "Action": others})
        if rest:
            kept.append({**statement, "Action": action, "Resource": rest})
    return json.dumps({**document, "Statement": kept})


@pytest.fixture(scope="module")
def demanded(aws_server: Aws, tmp_path_factory) -> Iterator[list[Demand]]:
    """What everything that diskbench does on AWS demanded, under the printed policy; and nothing of
    it was refused."""
    fresh(aws_server.cloud)
    aws_server.cloud.encrypts_with = KEY
    with pytest.MonkeyPatch.context() as patched:
        rig = AwsCloud(aws_server, patched, tmp_path_factory.mktemp("data"))
        rig.spec = rig.spec.model_copy(update={"spot": True, "zone": f"{REGION}a"})
        scope = scope_of(rig)
        acquired = acquire(rig, LEASE)
        provider: Any = rig.provider
        end = LeaseEnd(expires_at=4.05e9, left_s=4.05e9 - time.time())
        guest = guest_of(acquired)
        provider.extend(LEASE, scope, end, guest, acquired.made)
        guest.close()
        more = {"snapshot_of_fill": True, "aws": {"fast_snapshot_restore": True}}
        filled = type(rig.spec).model_validate({**rig.spec.model_dump(), **more})
        provider.snapshot(claim(LEASE), resolved(rig, filled), lambda: None, RigOnlooker())
        now = datetime.now(UTC)
        provider.metrics(resolved(rig), acquired, now, now)
        larger = resolved(rig, rig.spec.model_copy(update={"size_gib": 2}))
        swapped = provider.swap(claim(LEASE, turn=2), larger, RigOnlooker())
        leave_what_no_run_makes(aws_server, acquired)
        looked(rig, scope)
        provider.release(LEASE, scope, made=swapped.made)
        provider.release(LEASE, scope, copied=copies(aws_server))
        assert rig.count(LEASE) == 0
        demanded_there = copy.copy(aws_server.cloud.demanded)
        aws_server.cloud.policy = without("MakeCreateVolume", "ec2:CreateVolume",
                                          "arn:aws:ec2:*:*:volume/*")  # fmt: skip
        with pytest.raises(AccessDenied, match="not allowed to do ec2:CreateVolume"):
            acquire(rig, "two")
        provider.release("two", scope)
        decoded = [one for one in aws_server.cloud.demanded if one.action.startswith("sts:")]
    yield [*demanded_there, *decoded]
    fresh(aws_server.cloud)


def tags(kind: str, name: str) -> list[dict[str, Any]]:
    values = {"diskbench-lease": LEASE, "diskbench-expires": "1", "Name": name}
    return [{"ResourceType": kind, "Tags": [{"Key": k, "Value": v} for k, v in values.items()]}]


def leave_what_no_run_makes(aws: Aws, acquired: Acquired) -> None:
    """An address and an interface named for the lease, and copies of its tags."""
    ec2, name = aws.client(), f"diskbench-{LEASE}-left"
    ec2.allocate_address(Domain="vpc", TagSpecifications=tags("elastic-ip", name))
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    ec2.create_network_interface(SubnetId=subnet, TagSpecifications=tags("network-interface", name))
    somebodys = ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1)["VolumeId"]
    ec2.create_snapshot(VolumeId=somebodys, TagSpecifications=tags("snapshot", "copy"))
    ec2.delete_volume(VolumeId=somebodys)
    instance = str(acquired.facts["instance_id"])
    ec2.create_image(
        InstanceId=instance, Name="copy", NoReboot=True, TagSpecifications=tags("image", "copy")
    )


def copies(aws: Aws) -> list[str]:
    ec2 = aws.client()
    tagged = [{"Name": "tag:diskbench-lease", "Values": [LEASE]}]
    images = ec2.describe_images(Owners=["self"], Filters=tagged)["Images"]
    snapshots = ec2.describe_snapshots(OwnerIds=["self"], Filters=tagged)["Snapshots"]
    return [
        *(f"image {one['ImageId']}" for one in images),
        *(f"snapshot {one['SnapshotId']}" for one in snapshots),
    ]


def looked(rig: AwsCloud, scope: Scope) -> None:
    """What doctor, gc and the catalogue ask."""
    provider: Any = rig.provider
    findings = provider.examine(scope)
    assert [one for one in findings if one.state == "problem"] == []
    rehearsed = provider.rehearse(resolved(rig))
    assert [one for one in rehearsed if one.state == "problem"] == []
    provider.quotas(scope)
    provider.found(scope)
    provider.regions(scope.model_copy(update={"region": None}))
    aws = AwsSessions().at(None, REGION, rig.aws.endpoint)
    aws.edge("pricing", provider.timing).call("get_products", {"ServiceCode": "AmazonEC2"})


def test_all_that_diskbench_does_is_allowed(demanded: list[Demand]) -> None:
    assert len(demanded) > 100
    assert [one for one in demanded if not allows(policy(), one)] == []


@pytest.mark.parametrize(("sid", "action", "resource"), every_right())
def test_no_right_can_be_taken_away(demanded, sid: str, action: str, resource: str) -> None:
    missed = [one for one in demanded if not allows(without(sid, action, resource), one)]
    if (sid, action, resource) in NEVER_SEEN:
        assert missed == []
        return
    assert missed, f"nothing demanded {action} on {resource}"
    assert {one.action for one in missed} == {action}


def test_a_key_that_may_not_be_used_is_told_as_the_reason(aws: Aws, tmp_path, monkeypatch) -> None:
    rig = AwsCloud(aws, monkeypatch, tmp_path)
    aws.cloud.encrypts_with = KEY
    aws.cloud.policy = without("LetTheMachineUseTheKey", "kms:CreateGrant", "*")
    with pytest.raises(DiskbenchError) as failed:
        acquire(rig, LEASE)
    assert "key" in str(failed.value)
    assert "somebody" not in str(failed.value)
    rig.provider.release(LEASE, scope_of(rig))
    assert rig.count(LEASE) == 0
