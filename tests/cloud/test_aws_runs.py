"""Runs on the emulated AWS: on disks made from a snapshot, which hold data from the start, as no
others may; and CloudWatch's own word on the limit of a step."""

import json
import struct
import subprocess

import pytest
from tests.cloud.eager import GIVES_UP
from tests.cloud.measured import a_renter, document, rents
from tests.cloud.rented import ZONE
from tests.contract.rented import AwsCloud
from tests.rigs.cli import merged_rows

from diskbench.errors import InvalidValue
from diskbench.providers.aws.doctor import policy
from diskbench.testing.rig import resolved
from diskbench.units import GIB

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
