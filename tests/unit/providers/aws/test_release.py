"""Giving back on AWS: everything of the lease and nothing else, tried to the end."""

import pytest
from tests.unit.providers.aws.rig import CLAIM, Cloud, refusal

from diskbench.errors import AccessDenied, InvalidValue, ReleaseFailed
from diskbench.model.rental import Claim, Scope
from diskbench.providers.aws import requests

pytestmark = pytest.mark.slow  # each rents: some thirty calls, and an `ssh -G`

OTHER = Claim(lease_id="01jother", expires_at=5e9, owner="you@there", version="0.1.0")


def scope(cloud: Cloud, **more: str | None) -> Scope:
    given = {"account": "123456789012", "region": "us-east-1", "endpoint": cloud.url}
    return Scope(provider="aws", **given | more)


def release(cloud: Cloud, lease_id: str = CLAIM.lease_id) -> None:
    cloud.provider.release(lease_id, scope(cloud))


def stray_volume(cloud: Cloud, claim: Claim = CLAIM) -> str:
    """A volume of the lease that `acquire` never made."""
    tagged = [{"ResourceType": "volume", "Tags": requests.tags(claim, "stray")}]
    request = {"AvailabilityZone": "us-east-1d", "Size": 7, "TagSpecifications": tagged}
    return str(cloud.client().create_volume(**request)["VolumeId"])


def test_all_of_the_lease_is_found_and_given_back_in_the_order_of_dependence_and_no_more(cloud):
    cloud.acquire()
    mine = cloud.client().create_volume(AvailabilityZone="us-east-1a", Size=1)["VolumeId"]
    stray = stray_volume(cloud, OTHER)
    ours, theirs = cloud.provider.found(scope(cloud))
    assert (ours.lease_id, ours.expires_at) == (CLAIM.lease_id, CLAIM.expires_at)
    kinds = sorted(name.partition(" ")[0] for name in ours.resources)
    assert kinds == ["instance", "key-pair", "security-group", "volume", "volume"]
    assert (theirs.lease_id, theirs.resources) == (OTHER.lease_id, (f"volume {stray}",))
    cloud.wire.calls.clear()
    release(cloud)
    assert set(cloud.left()) == {mine, stray}
    changing = [n for n, _ in cloud.wire.calls if n.startswith(("Terminate", "Delete"))]
    assert list(dict.fromkeys(changing)) == [
        "TerminateInstances", "DeleteVolume", "DeleteSecurityGroup", "DeleteKeyPair",
    ]  # fmt: skip


def test_what_still_hangs_on_something_is_tried_again(cloud):
    cloud.acquire()
    stray_volume(cloud)
    for code in ("VolumeInUse", "IncorrectState", "DependencyViolation"):
        operation = "DeleteSecurityGroup" if code == "DependencyViolation" else "DeleteVolume"
        cloud.wire.spoil(operation, refusal(code, "in use"), refusal(code, "in use"))
    release(cloud)
    assert cloud.left() == []


def test_everything_is_tried_and_all_that_is_left_is_named_once(cloud):
    cloud.acquire()
    stray = stray_volume(cloud)
    cloud.impatient("delete_s")
    cloud.wire.always("DeleteVolume", refusal("UnauthorizedOperation", "no", 403))
    cloud.wire.always("DeleteSecurityGroup", refusal("DependencyViolation", "in use"))
    with pytest.raises(ReleaseFailed) as failed:
        release(cloud)
    assert failed.value.exit_code == 3
    denied = "these AWS credentials are not allowed to do ec2:DeleteVolume"
    for says in (f"volume {stray} ({denied}", "security-group sg-", "us-east-1"):
        assert says in failed.value.message
    assert f"diskbench gc {CLAIM.lease_id}" in failed.value.advice
    assert cloud.live() == []
    assert cloud.client().describe_key_pairs()["KeyPairs"] == [], "tried to the end"


def test_a_machine_that_will_not_end_is_named(cloud):
    cloud.acquire()
    cloud.impatient("terminate_s", "delete_s")
    cloud.wire.spoil("TerminateInstances", lambda *_: {})
    with pytest.raises(ReleaseFailed, match=r"instance i-\w+ \(.*took longer than 0.2 s: running"):
        release(cloud)


def test_another_account_is_not_taken_for_an_empty_one_nor_a_tag_for_a_lease(cloud, tmp_path):
    with pytest.raises(ReleaseFailed):
        cloud.provider.release(CLAIM.lease_id, scope(cloud, account="work@999999999999"))
    with pytest.raises(AccessDenied, match="to account 123456789012"):
        cloud.provider.found(scope(cloud, account="999999999999"))
    precious = tmp_path / "data" / "diskbench" / "precious"
    precious.mkdir(parents=True)
    with pytest.raises((InvalidValue, ReleaseFailed), match="not a lease of diskbench"):
        release(cloud, "../precious")
    assert precious.exists()


def test_a_machine_that_never_was_or_was_ended_is_gone_and_none_of_which_aws_is_silent(cloud):
    told = cloud.provider.gone(CLAIM.lease_id, scope(cloud))
    assert told == f"EC2 lists no instance of lease {CLAIM.lease_id}"
    instance = cloud.acquire().facts["instance_id"]
    cloud.client().terminate_instances(InstanceIds=[instance])
    told = str(cloud.provider.gone(CLAIM.lease_id, scope(cloud)))
    assert told.startswith(f"{instance} is terminated: Client.UserInitiatedShutdown")
    cloud.acquire()
    cloud.wire.always("DescribeInstances", refusal("ExpiredToken", "expired"))
    assert cloud.provider.gone(CLAIM.lease_id, scope(cloud)) is None


def test_a_user_of_another_partition_asks_for_the_regions_where_he_is(cloud, monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    asked: list[str] = []

    def where(self, _operation, _request=None):
        asked.append(self.session.region)
        return {"Regions": [{"RegionName": "eu-west-1"}]}

    monkeypatch.setattr("diskbench.providers.aws.client.AwsClient.call", where)
    anywhere = scope(cloud, region=None, account=None)
    assert cloud.provider.regions(anywhere) == ("eu-west-1",)
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    cloud.provider.close()  # as between two commands
    assert cloud.provider.regions(anywhere) == ("eu-west-1",)
    assert asked == ["eu-west-1", "us-east-1"]
