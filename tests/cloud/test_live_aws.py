"""`diskbench doctor --provider aws --live` against the emulated AWS."""

from __future__ import annotations

import json

import pytest
from tests.cloud.doctored import Doctor, of
from tests.cloud.rented import REGION, Aws
from tests.cloud.test_doctor_aws import doctor as doctor  # noqa: PLC0414 - a fixture

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
