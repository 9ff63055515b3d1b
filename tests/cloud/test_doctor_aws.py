"""`diskbench doctor --provider aws` against the emulated AWS."""

from __future__ import annotations

import re

import pytest
from tests.cloud.doctored import Doctor, of
from tests.cloud.rented import REGION, Aws, launch, up, volume

pytestmark = pytest.mark.slow


@pytest.fixture
def doctor(aws: Aws, tmp_path, capsys, monkeypatch) -> Doctor:
    for name, value in aws.env.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    return Doctor(tmp_path, capsys, monkeypatch)


@pytest.fixture
def flags(aws: Aws) -> tuple[str, ...]:
    return ("--provider", "aws", "--endpoint-url", aws.endpoint)


def test_an_account_that_may_all_is_told_who_it_is_and_what_is_left(aws, doctor, flags):
    code, found = doctor.asked(*flags)
    (who,) = of(found, "credentials")
    assert (who["state"], who["where"]) == ("ok", f"aws {REGION}")
    assert who["told"].startswith("arn:aws:")
    (clock,) = of(found, "clock", "aws")
    assert clock["state"] == "ok"
    (allowed,) = of(found, "permissions")
    assert re.match(r"(1[5-9]|2\d) of \1 actions tried are allowed", allowed["told"]), found
    quotas = {one["told"] for one in of(found, "quota")}
    assert "Running On-Demand Standard instances (vCPUs): 64 of 64 left" in quotas
    assert "GiB of gp3: 51,200 of 51,200 left" in quotas
    assert code == 0, found
    assert aws.left() == [], "nothing was made"


def test_what_is_rented_counts_against_the_quota(aws, doctor, flags):
    up(aws, launch(aws, "m5.large"))
    volume(aws, "gp3", 100)  # and 8 GiB of the root disk
    _, found = doctor.asked(*flags)
    quotas = {one["told"] for one in of(found, "quota")}
    assert "Running On-Demand Standard instances (vCPUs): 62 of 64 left" in quotas
    assert "GiB of gp3: 51,092 of 51,200 left" in quotas


@pytest.mark.parametrize("action", ["RunInstances", "CreateVolume", "ImportKeyPair"])
def test_a_permission_that_is_missing_is_named_and_nothing_is_made(aws, doctor, flags, action):
    aws.faults.forbid(action)
    code, found = doctor.asked(*flags)
    assert code == 2
    denied = [one for one in of(found, "permissions") if one["state"] == "problem"]
    assert [f"ec2:{action}" in one["told"] for one in denied] == [True]
    assert "--print-policy aws" in denied[0]["advice"]
    assert all(one.params.get("DryRun") for one in aws.faults.calls(action))
    assert aws.left() == []


def test_what_only_reads_is_tried_too(aws, doctor, flags):
    aws.faults.forbid("DescribeKeyPairs")
    code, found = doctor.asked(*flags)
    assert code == 2
    assert "ec2:DescribeKeyPairs" in of(found, "permissions")[0]["told"]


def test_credentials_that_expired_are_the_one_problem(aws, doctor, flags):
    aws.faults.expire_credentials()
    code, found = doctor.asked(*flags)
    assert code == 2
    (who,) = of(found, "credentials")
    assert (who["state"], "aws sso login" in who["advice"]) == ("problem", True)
    assert of(found, "permissions") == of(found, "quota") == []


def test_the_table_fits_eighty_columns(aws, doctor, flags, tmp_path):
    aws.faults.forbid("RunInstances")
    code, out, _ = doctor.text(*flags)
    assert code == 2
    # A path is not broken, and those of tests are long.
    assert max(len(line) for line in out.splitlines() if str(tmp_path) not in line) <= 80
    assert "problem  permissions  aws us-east-1" in out


def test_a_matrix_that_takes_more_than_is_left_is_told_before_it_is_run(
    aws, doctor, flags, tmp_path
):
    up(aws, launch(aws, "m5.large"))
    matrix = tmp_path / "many.yaml"
    matrix.write_text(
        "name: many\n"
        f"defaults: {{provider: aws, region: {REGION}, disk: gp3, size: 100, profile: quick, "
        f"endpoint_url: '{aws.endpoint}', instance_type: m5.4xlarge, replicates: 9}}\n"
        "limits: {max_parallel: 9}\n"
    )
    code, found = doctor.asked(*flags, "--matrix", str(matrix))
    assert code == 2, found
    (problem,) = [one for one in found if one["state"] == "problem"]
    assert problem["where"] == f"aws {REGION}"
    assert problem["told"].endswith("62 of 64 left, the matrix takes 144 at once")
    disks = [one for one in of(found, "quota") if "gp3" in one["told"]]
    assert disks[0]["told"].endswith("the matrix takes 900 at once")
