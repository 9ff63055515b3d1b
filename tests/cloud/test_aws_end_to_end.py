"""`diskbench run --provider aws`, from the command line to rows and back to nothing.

boto3 over HTTP, sshd, a block device and fio are real.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from emulators import guests
from emulators.aws import server
from tests.cloud.eager import GIVES_UP
from tests.cloud.measured import WRITE_THEN_READ, a_renter, document, is_measuring, read_iops
from tests.cloud.rented import REGION, Aws, state, until
from tests.rigs.cli import Cli
from tests.rigs.rates import held_at

pytestmark = pytest.mark.slow

OTHER_KEY = "AKIADISKBENCH0000002"
GP3 = ("--disk", "gp3", "--size", "4")


@pytest.fixture
def user(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """A user of the emulated AWS, who must leave nothing in it."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    yield a_renter(tmp_path, aws.env)
    assert aws.left() == []


@pytest.fixture
def words(aws: Aws, tmp_path: Path) -> Any:
    """The command that rents what the flags say and measures it for so many seconds."""

    def written(*flags: str, seconds: int = 2) -> tuple[str, ...]:
        profile = tmp_path / "mine.fio"
        profile.write_text(WRITE_THEN_READ.format(seconds=seconds, block="4k"))
        where = ("--provider", "aws", "--region", REGION, "--endpoint-url", aws.endpoint)
        return ("run", *where, "--profile", str(profile), *flags)

    return written


@pytest.fixture
def run(words: Any, user: Cli) -> Any:
    """Run that command to its end; what came of it."""
    return lambda *flags, seconds=2: user.run(*words(*flags, seconds=seconds))


def measuring(aws: Aws) -> bool:
    """Does a step run in a machine?"""
    return is_measuring(list(aws.cloud.machines))


# Every disk type of the seeds. In two seconds of fio a limit is met within a third; how exactly
# each is kept is tested in tests/lab.
@pytest.mark.parametrize(
    ("flags", "asked", "promised"),
    [
        ("--disk standard --size 20", {"VolumeType": "standard", "Size": 20}, 100),
        ("--disk gp2 --size 20", {"VolumeType": "gp2", "Size": 20}, 3000),
        ("--disk gp2 --size 256", {"VolumeType": "gp2", "Size": 256}, 3000),
        ("--disk io1 --size 20 --iops 400", {"VolumeType": "io1", "Iops": 400}, 400),
        ("--disk io1 --size 20 --iops 1000", {"VolumeType": "io1", "Iops": 1000}, 1000),
        ("--disk io1 --size 100 --iops 5000", {"VolumeType": "io1", "Iops": 5000}, 5000),
        ("--disk st1 --size 500", {"VolumeType": "st1", "Size": 500}, 122),
        ("--disk sc1 --size 500", {"VolumeType": "sc1", "Size": 500}, 39),
        ("--disk gp3 --size 20", {"VolumeType": "gp3", "Size": 20}, 3000),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_disk_of_the_seeds_runs_to_rows(
    run: Any, user: Cli, aws: Aws, flags: str, asked: dict[str, Any], promised: float
) -> None:
    found = document(user, run(*flags.split()))
    assert held_at(read_iops(found), promised)
    (made,) = aws.faults.calls("CreateVolume")
    assert asked.items() <= made.params.items()


def test_the_root_disk_is_measured_through_a_file(run: Any, user: Cli, aws: Aws) -> None:
    assert read_iops(document(user, run("--disk", "root"))) > 0
    assert aws.faults.calls("CreateVolume") == []


def test_the_machines_own_disk_is_measured(run: Any, user: Cli, aws: Aws) -> None:
    assert read_iops(document(user, run("--disk", "instance-store"))) > 0
    assert aws.faults.calls("AttachVolume") == []


def test_disks_to_stripe_are_all_made_and_a_kernel_without_raid_is_told(
    run: Any, user: Cli, aws: Aws
) -> None:
    # This kernel has no md driver: a real guest makes the array in tests/qemu/test_array.py.
    done = run(*GP3, "--count", "2", "--stripe")
    assert done.returncode == 1, done.stderr
    said = " ".join(done.stderr.split())
    assert "with 2 × gp3 of 4 GiB, striped" in said
    assert "the stripe of /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol" in said
    assert len(aws.faults.calls("AttachVolume")) == 2
    (row,) = user.json("results", "list")["runs"]
    assert row["state"] == "failed"


def test_nothing_is_open_to_the_world_and_everything_carries_its_lease(
    run: Any, user: Cli, aws: Aws
) -> None:
    document(user, run(*GP3))
    for asked in aws.faults.calls("AuthorizeSecurityGroupIngress"):
        (rule,) = asked.params["IpPermissions"]
        assert [row["CidrIp"] for row in rule["IpRanges"]] == ["127.0.0.0/8"]
    (launch,) = aws.faults.calls("RunInstances")
    assert launch.params["MetadataOptions"]["HttpTokens"] == "required"
    assert launch.params["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert launch.params["ClientToken"]
    (volume,) = aws.faults.calls("CreateVolume")
    for one in (launch, volume):
        for tagged in one.params["TagSpecifications"]:
            assert "diskbench-lease" in {tag["Key"] for tag in tagged["Tags"]}
    assert aws.faults.calls("CreateTags") == []


def test_no_key_and_no_credential_is_kept_anywhere(run: Any, user: Cli) -> None:
    done = run(*GP3)
    document(user, done)
    kept = {p: p.read_bytes() for p in user.home.rglob("*") if p.is_file()}
    assert any(p.name == "plan.json" for p in kept)
    secret = next(data.strip() for p, data in kept.items() if p.name == "secret")
    for path, data in [*kept.items(), ("stderr", done.stderr.encode())]:
        assert b"PRIVATE KEY" not in data, path
        assert server.SECRET.encode() not in data, path
        assert secret not in data or getattr(path, "name", "") == "secret", path


def test_evidence_goes_to_an_object_store(run: Any, user: Cli, aws: Aws) -> None:
    aws.client("s3").create_bucket(Bucket="evidence")
    user.extra_env = user.extra_env | server.storage_environment(aws.endpoint)
    found = document(user, run(*GP3, "--evidence-url", "s3://evidence/kept"))
    listed = aws.client("s3").list_objects_v2(Bucket="evidence")["Contents"]
    prefix = f"kept/runs/{found['run_id']}"
    assert {f"{prefix}/plan.json", f"{prefix}/manifest.json"} <= {row["Key"] for row in listed}


# What goes wrong.


def test_a_zone_without_capacity_is_passed_over(run: Any, user: Cli, aws: Aws) -> None:
    aws.faults.capacity(zone="us-east-1a")
    done = run(*GP3)
    document(user, done)
    assert "no capacity in us-east-1a" in done.stderr
    (made,) = aws.faults.calls("CreateVolume")
    assert made.params["AvailabilityZone"] == "us-east-1b"


def test_no_capacity_anywhere_is_said_and_nothing_is_kept(run: Any, aws: Aws) -> None:
    aws.faults.capacity(times=float("inf"))
    done = run(*GP3)
    assert done.returncode == 1
    assert "no zone of us-east-1 has capacity" in done.stderr


def test_a_storm_of_throttling_is_sat_out(run: Any, user: Cli, aws: Aws) -> None:
    aws.faults.throttle("*", times=8)
    aws.faults.throttle("RunInstances", times=3)
    aws.faults.throttle("CreateVolume", times=3)
    document(user, run(*GP3))
    assert len(aws.faults.calls("RunInstances")) == 4


def test_a_volume_that_is_never_created_is_given_up(
    run: Any, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GIVES_UP, "volume_s=2")
    aws.faults.stuck_creating()
    done = run(*GP3)
    assert done.returncode == 1
    assert "creating" in done.stderr
    assert "longer than 2 s" in done.stderr


def test_a_machine_that_never_passes_its_checks_is_given_up(
    run: Any, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GIVES_UP, "checks_s=2 ssh_s=2")
    aws.faults.never_ready()
    done = run(*GP3)
    assert done.returncode == 1
    (made,) = aws.faults.calls("RunInstances")
    assert made.params["InstanceType"] in done.stderr
    assert "longer than 2 s" in done.stderr


def test_a_machine_that_somebody_terminates_while_fio_runs(run: Any, aws: Aws) -> None:
    def terminate() -> None:
        until(lambda: measuring(aws))
        aws.client().terminate_instances(InstanceIds=list(aws.cloud.machines))

    somebody = threading.Thread(target=terminate)
    somebody.start()
    done = run(*GP3, seconds=60)
    somebody.join()
    assert done.returncode == 1
    assert "the machine is gone" in done.stderr
    assert "User initiated shutdown" in done.stderr


def test_a_disk_that_is_attached_late_is_waited_for(run: Any, user: Cli, aws: Aws) -> None:
    aws.faults.late_attach(looks=6)
    document(user, run(*GP3))


def test_a_permission_that_is_missing_is_named(run: Any, aws: Aws) -> None:
    aws.faults.forbid("CreateVolume")
    done = run(*GP3)
    assert done.returncode == 2
    assert "ec2:CreateVolume" in done.stderr


def test_credentials_that_expire_leave_what_others_can_give_back(
    run: Any, user: Cli, aws: Aws
) -> None:
    def expire() -> None:
        until(lambda: measuring(aws))
        aws.faults.expire_credentials()

    clock = threading.Thread(target=expire)
    clock.start()
    done = run(*GP3, seconds=5)
    clock.join()
    assert done.returncode == 3
    assert "expired" in done.stderr
    assert any(" is running" in thing for thing in aws.left())
    user.extra_env = user.extra_env | {"AWS_ACCESS_KEY_ID": OTHER_KEY}
    (row,) = user.json("results", "list")["runs"]
    given_back = user.run("gc", row["trial_id"])
    assert given_back.returncode == 0, given_back.stderr


def test_a_machine_that_nobody_looks_after_takes_its_disk_along(
    words: Any, user: Cli, aws: Aws
) -> None:
    controller = user.start(*words(*GP3, seconds=60))
    until(lambda: measuring(aws))
    controller.kill()
    controller.communicate()
    (machine,) = aws.cloud.machines
    guests.switch_off(machine)  # what its dead-man's timer does in the end
    until(lambda: state(aws, machine) == "terminated")
    assert [thing for thing in aws.left() if "vol-" in thing or "i-" in thing] == []
    (row,) = user.json("results", "list")["runs"]
    assert user.run("gc", row["trial_id"]).returncode == 0
