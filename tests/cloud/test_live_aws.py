"""`diskbench doctor --provider aws --live` against the emulated AWS."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError
from tests.cloud.doctored import of
from tests.cloud.rented import REGION, ZONE, Aws
from tests.cloud.replayed import check_replay, read_recording
from tests.cloud.test_doctor_aws import doctor as doctor  # a fixture

pytestmark = pytest.mark.slow
MAKING = ("RunInstances", "CreateVolume", "CreateSecurityGroup", "ImportKeyPair")


@pytest.fixture
def flags(aws: Aws) -> tuple[str, ...]:
    return (
        "--provider", "aws", "--live", "--endpoint-url", aws.endpoint, "--region", REGION,
        "--disk", "gp3", "--size", "20", "--ssh-cidr", "203.0.113.7/32",
    )  # fmt: skip


def test_every_request_of_a_rental_is_tried_and_nothing_is_made(aws, doctor, flags, tmp_path):
    code, found = doctor.asked(*flags)
    tried = of(found, "dry run")
    assert {one["state"] for one in tried} == {"ok"}, tried
    for action in MAKING:
        assert any(action in one["told"] for one in tried)
        assert all(one.params.get("DryRun") for one in aws.faults.calls(action))
        assert aws.faults.calls(action)
    assert aws.left() == []
    assert code == 0, found
    recording = json.loads((tmp_path / "diskbench-live-aws.json").read_text())
    assert recording["provider"] == "aws"
    assert len(recording["exchanges"]) > 20


def test_nothing_private_is_in_the_recording(aws, doctor, flags, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAABCDEFGHIJKLMNOP")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "FwoGZXIvYXdzEBYaDHqa0AP")
    doctor.asked(*flags)
    account = aws.client("sts").get_caller_identity()["Account"]
    text = (tmp_path / "diskbench-live-aws.json").read_text()
    for private in (
        account, "AKIAABCDEFGHIJKLMNOP", "wJalrXUtnFEMI", "FwoGZXIvYXdzEBYaDHqa0AP",
        "203.0.113.7", "PRIVATE KEY", "uthorization",
    ):  # fmt: skip
        assert private not in text, private


def test_the_recording_is_replayed(aws, doctor, flags, tmp_path):
    doctor.asked(*flags)
    recording = read_recording(tmp_path / "diskbench-live-aws.json")
    before = len(aws.faults.asked)
    check_replay(doctor, recording)
    assert len(aws.faults.asked) == before, "the replay asked the emulator"


def test_a_refusal_is_named_recorded_and_replayed(aws, doctor, flags, tmp_path):
    aws.faults.forbid("RunInstances")
    code, found = doctor.asked(*flags)
    assert code == 2
    refused = [one for one in of(found, "dry run") if one["state"] == "problem"]
    assert refused
    assert all("ec2:RunInstances" in one["told"] for one in refused)
    assert "--print-policy aws" in refused[0]["advice"]
    recording = read_recording(tmp_path / "diskbench-live-aws.json")
    check_replay(doctor, recording, code=2)


def test_parameters_are_checked_and_not_only_rights(aws, doctor, flags):
    """EC2 checks a launch with DryRun as it does one without, but for capacity."""
    code, found = doctor.asked(*flags, "--subnet", "subnet-0123456789abcdef0")
    assert code == 2
    assert [one["check"] for one in found if one["state"] == "problem"]
    with pytest.raises(ClientError, match=r"InvalidAMIID\.NotFound"):
        aws.client().run_instances(
            ImageId="ami-0123456789abcdef0", InstanceType="m5.large", MinCount=1, MaxCount=1,
            DryRun=True,
        )  # fmt: skip
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        aws.client().create_volume(AvailabilityZone=ZONE, VolumeType="gp3", Size=1, Iops=10**6,
                                   DryRun=True)  # fmt: skip
    assert aws.left() == []


def test_what_rents_nothing_or_names_no_disk_is_refused(doctor):
    code, _, err = doctor.text("--provider", "local", "--live")
    assert (code, "--live cannot be used with --provider local" in err) == (2, True)
    code, _, err = doctor.text("--provider", "aws", "--live")
    assert code == 2
    assert "--disk" in err
