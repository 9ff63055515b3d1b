"""An AWS account as companies and beginners have it: policies of the organisation, keys of their
own, the Free plan, no role for spot machines, regions that are not enabled. Runs in it: on disks
made from a snapshot, which hold data from the start; CloudWatch's own word on a step's limit."""

import json
import struct
import subprocess

import pytest
from emulators.aws.policies import MAKERS, UNENCRYPTED, demanding_tags
from tests.cloud.eager import GIVES_UP
from tests.cloud.measured import a_renter, document, rents
from tests.cloud.rented import REGION, ZONE
from tests.contract.rented import AwsCloud
from tests.rigs.cli import merged_rows

from diskbench.catalog.books import opt_in_regions
from diskbench.errors import AccessDenied, DiskbenchError, InvalidValue, RentalFailed
from diskbench.providers.aws.doctor import policy
from diskbench.testing.rig import RigOnlooker, claim, resolved, scope_of
from diskbench.units import GIB

TAGS = (("team", "db"), ("Cost Center", "42"))
DEMANDED = json.dumps({
    "Statement": [
        statement
        for document in (demanding_tags("team", "Cost Center"), UNENCRYPTED)
        for statement in json.loads(document)["Statement"]
    ]
})  # fmt: skip


@pytest.fixture
def rig(aws, monkeypatch, tmp_path):
    yield AwsCloud(aws, monkeypatch, tmp_path)
    assert aws.left() == []


def new_key(aws, **more):
    return str(aws.client("kms").create_key(**more)["KeyMetadata"]["KeyId"])


def refused_as(rig, kind, **spec):
    """The error of a rental, which leaves nothing."""
    asked = rig.spec.model_copy(update=spec)
    with pytest.raises(kind) as failed:
        rented(rig, asked)
    rig.provider.release("one", scope_of(rig))
    return failed.value


def rented(rig, asked):
    rental = resolved(rig, asked)
    claimed = claim("one").model_copy(update={"tags": asked.tags})
    rig.provider.acquire(claimed, rental, RigOnlooker())
    return rental


def test_a_run_passes_where_all_must_be_tagged_and_encrypted(aws, tmp_path):
    user = a_renter(tmp_path, aws.env)
    aws.client("kms").create_alias(AliasName="alias/mine", TargetKeyId=new_key(aws))
    aws.cloud.organization = DEMANDED
    flags = "--disk gp3 --size 4 --tag team=db --tag 'Cost Center=42' --kms-key alias/mine"
    document(user, rents(user, "aws", aws, f"{flags} --snapshot-of-fill", seconds=1))
    for action, kinds in MAKERS.items():
        calls = aws.faults.calls(action)
        assert calls, action
        for call in calls:
            tagged = {one["ResourceType"]: one["Tags"] for one in call.params["TagSpecifications"]}
            assert set(tagged) == set(kinds) - {"spot-instances-request"}
            for tags in tagged.values():
                assert {(tag["Key"], tag["Value"]) for tag in tags} >= set(TAGS)
    volumes = aws.faults.calls("CreateVolume")
    assert len(volumes) == 2
    for volume in volumes:
        assert (volume.params["Encrypted"], volume.params["KmsKeyId"]) == (True, "alias/mine")
    (launch,) = aws.faults.calls("RunInstances")
    root = launch.params["BlockDeviceMappings"][0]["Ebs"]
    assert (root["Encrypted"], root["KmsKeyId"]) == (True, "alias/mine")
    assert aws.left() == []


@pytest.mark.parametrize(
    ("demanded", "may_read", "given", "advice"),
    [
        (demanding_tags("team"), True, {}, "add --tag team=VALUE"),
        (demanding_tags("team"), False, {}, "--tag KEY=VALUE"),
        (demanding_tags("team", "Cost Center"), True, {"tags": TAGS[:1]},
         "add --tag Cost Center=VALUE"),
        (UNENCRYPTED, True, {"tags": TAGS}, "add --kms-key KEY"),
    ],
)  # fmt: skip
def test_what_a_policy_of_the_organisation_demands_is_the_advice(
    rig, demanded, may_read, given, advice
):
    rig.aws.cloud.organization = demanded
    if not may_read:
        rig.aws.cloud.policy = policy().replace("sts:DecodeAuthorizationMessage", "sts:Nothing")
    error = refused_as(rig, InvalidValue, **given)
    assert advice in error.advice
    assert "a policy denies ec2:" in error.message


def test_doctor_tells_a_policy_of_the_organisation_from_rights_of_the_user(rig):
    rental = resolved(rig, rig.spec)
    no = {"Sid": "No", "Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "*"}
    rig.aws.cloud.organization = json.dumps({"Version": "2012-10-17", "Statement": [no]})
    refused = [one for one in rig.provider.rehearse(rental) if one.state == "problem"]
    assert refused
    for one in refused:
        assert "ec2:RunInstances (a service control policy, not your own permissions)" in one.told
        assert "administers the AWS organisation" in one.advice
    found = rig.provider.examine(scope_of(rig))
    (told,) = [one for one in found if one.check == "permissions" and one.state == "problem"]
    assert "service control policy" in told.told
    rig.aws.cloud.organization = None
    rig.aws.cloud.policy = policy().replace('"ec2:RunInstances"', '"ec2:Nothing"')
    refused = [one for one in rig.provider.rehearse(rental) if one.state == "problem"]
    assert refused
    assert all("allow it: diskbench doctor --print-policy aws" in one.advice for one in refused)


def test_a_key_that_cannot_encrypt_is_refused_before_renting_if_it_may_be_looked_at(rig):
    kms = rig.aws.client("kms")
    off = new_key(rig.aws)
    kms.disable_key(KeyId=off)
    signs = new_key(rig.aws, KeyUsage="SIGN_VERIFY", KeySpec="RSA_2048")
    for key, says in (
        (off, "is Disabled"),
        (f"arn:aws:kms:{REGION}:123456789012:key/{off}", "is Disabled"),
        (signs, "only symmetric keys"),
        ("alias/nothing", f"--kms-key alias/nothing does not exist in {REGION}"),
    ):
        with pytest.raises(InvalidValue, match=says):
            resolved(rig, rig.spec.model_copy(update={"kms_key": key}))
    assert rig.aws.faults.calls("ImportKeyPair") == []
    rig.aws.cloud.policy = policy().replace('"kms:DescribeKey",', "")
    error = refused_as(rig, DiskbenchError, kms_key=new_key(rig.aws))
    assert "--kms-key" in error.advice
    assert isinstance(error, RentalFailed | AccessDenied)


def test_the_free_plan_says_which_machine_it_has_and_the_first_spot_machine_needs_a_role(rig):
    rig.aws.cloud.spot_role = False
    error = refused_as(rig, InvalidValue, spot=True)
    assert "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com" in str(error)
    rig.aws.cloud.free_plan = True
    error = refused_as(rig, InvalidValue)
    assert "Free plan" in error.message
    assert "--instance-type m7i-flex.large" in error.advice


@pytest.mark.parametrize("may_look", [True, False])
def test_a_region_that_is_not_enabled_is_told_as_such(rig, may_look):
    region = "eu-central-2"
    assert region in opt_in_regions("aws")
    there = rig.spec.model_copy(update={"region": region})
    rig.aws.cloud.not_enabled = frozenset({region})
    if not may_look:
        rig.aws.cloud.policy = policy().replace("ec2:DescribeRegions", "ec2:Nothing")
    with pytest.raises(InvalidValue if may_look else AccessDenied) as refused:
        resolved(rig, there)
    assert f"aws account enable-region --region-name {region}" in refused.value.advice
    assert ("log in" in refused.value.advice) is not may_look


ENTRY = struct.pack("<B3sB3sII", 0, b"", 0x83, b"", 2048, 8192)
TABLE = bytes(446) + ENTRY + bytes(48) + b"\x55\xaa"
"""A partition table (MBR) with one partition of 4 MiB."""


def a_snapshot(aws, *, size_gib=1, of=None):
    """A snapshot of an empty disk, or of one with a filesystem or a partition table in it."""
    ec2 = aws.client()
    asked = {"AvailabilityZone": ZONE, "VolumeType": "gp3", "Size": size_gib}
    volume = ec2.create_volume(**asked)["VolumeId"]
    image = aws.cloud.image(volume)
    image.parent.mkdir(exist_ok=True)
    with image.open("wb") as file:
        file.truncate(size_gib * GIB)
    if of == "ext4":
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    elif of == "dos":
        with image.open("r+b") as file:
            file.write(TABLE)
    made = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    ec2.delete_volume(VolumeId=volume)
    return str(made)


@pytest.mark.parametrize("of", ["ext4", "dos"])
def test_every_block_of_a_disk_from_a_snapshot_is_read_once_and_again(aws, tmp_path, of):
    user = a_renter(tmp_path, aws.env)
    snapshot = a_snapshot(aws, of=of)
    aws.cloud.fast_restores[ZONE] = "optimizing"
    flags = f"--zone {ZONE} --disk gp3 --size 2 --from-snapshot {snapshot}"
    touched = "--initialization-rate 200 --profile first-touch --set size=64m --set order=random"
    done = rents(user, "aws", aws, f"{flags} {touched}")
    found = document(user, done)
    steps = [(row["step"], row["direction"]) for row in merged_rows(found)]
    assert steps == [("first-touch", "read"), ("again", "read")]
    assert f"from {snapshot} loaded at 200 MiB/s" in " ".join(done.stdout.split())
    assert "had been written before" not in str(found), "the snapshot's blocks are written"
    (plan,) = {path.read_bytes() for path in user.home.rglob("plan.json")}
    told = json.loads(plan)["acquired"]["facts"]
    assert told["fast_snapshot_restore"] == "optimizing"
    assert told["initialization_rate_mib_per_s"] == 200
    (made,) = aws.faults.calls("CreateVolume")[1:]
    assert made.params["SnapshotId"] == snapshot
    assert made.params["VolumeInitializationRate"] == 200
    assert aws.left() == []


@pytest.mark.parametrize(
    ("size", "says"),
    [
        (None, "snap-0123 is not in us-east-1"),
        (2, r"--size 1 is smaller than the snapshot snap-.* \(2 GiB\)"),
    ],
)
def test_a_snapshot_that_makes_no_such_disk_is_refused_before_renting(
    aws, monkeypatch, tmp_path, size, says
):
    rig = AwsCloud(aws, monkeypatch, tmp_path)
    snapshot = a_snapshot(aws, size_gib=size) if size else "snap-0123"
    with pytest.raises(InvalidValue, match=says):
        resolved(rig, rig.spec.model_copy(update={"snapshot": snapshot}))
    assert aws.faults.calls("ImportKeyPair") == []


@pytest.mark.parametrize(
    ("option", "loads"),
    [("", 16.8), ("--initialization-rate 100", 104.9), ("--fast-snapshot-restore", None)],
    ids=["lazy", "rate", "restored"],
)
def test_a_disk_from_a_snapshot_of_a_filled_one_is_slow_until_it_was_read(
    aws, tmp_path, option, loads
):
    user = a_renter(tmp_path, aws.env)
    flags = f"--zone {ZONE} --disk gp3 --size 2 --snapshot-of-fill {option} --tag team=db"
    done = rents(user, "aws", aws, f"{flags} --profile first-touch --set size=64m")
    rates = {row["step"]: row["bytes_per_s"] for row in merged_rows(document(user, done))}
    if loads is None:
        assert rates["first-touch"] > 0.5 * rates["again"]
    else:
        assert rates["first-touch"] <= 1.1e6 * loads
        assert loads > 50 or rates["again"] > 2 * rates["first-touch"]
    (snapshot,) = aws.faults.calls("CreateSnapshot")
    (first, second) = aws.faults.calls("CreateVolume")
    assert "SnapshotId" not in first.params
    assert second.params["SnapshotId"].startswith("snap-")
    (tagged,) = snapshot.params["TagSpecifications"]
    assert ("team", "db") in {(tag["Key"], tag["Value"]) for tag in tagged["Tags"]}
    assert len(aws.faults.calls("DisableFastSnapshotRestores")) == (loads is None)
    assert aws.left() == []


SECONDS = 10


def run(aws, tmp_path):
    """A run on a disk of 100 IOPS, whose metrics have periods of two seconds; what was printed."""
    user = a_renter(tmp_path, {**aws.env, GIVES_UP: "metric_s=2"})
    done = rents(user, "aws", aws, "--disk io1 --size 4 --iops 100", seconds=SECONDS)
    run_id = document(user, done)["run_id"]
    return user, " ".join(user.run("results", "show", run_id, "-v").stdout.lower().split())


def test_the_metrics_of_a_run_are_evidence_and_confirm_its_limit(aws, tmp_path):
    user, printed = run(aws, tmp_path)
    (kept,) = user.home.rglob("metrics.json")
    metrics = {one["name"]: one for one in json.loads(kept.read_bytes())["metrics"]}
    exceeded = [value for _, value in metrics["VolumeIOPSExceededCheck"]["points"]]
    assert exceeded.count(1.0) >= SECONDS / 2 / 2
    assert sum(value for _, value in metrics["VolumeReadOps"]["points"]) > SECONDS / 2 * 100
    assert "BurstBalance" not in metrics, "a series without points"
    assert "confirmed by the volume's own counters: at least" in printed, printed
    assert "s above its iops" in printed
    assert aws.left() == []


@pytest.mark.parametrize("late", [False, True])
def test_a_run_without_metrics_is_as_ever(aws, tmp_path, late):
    allowed = json.loads(policy())
    if late:
        aws.cloud.metrics_after_s = 1e9
    else:
        allowed["Statement"][0]["Action"].remove("cloudwatch:GetMetricData")
        aws.cloud.policy = json.dumps(allowed)
    user, printed = run(aws, tmp_path)
    assert list(user.home.rglob("metrics.json")) == []
    assert "own counters" not in printed
