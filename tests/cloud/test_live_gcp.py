"""`diskbench doctor --provider gcp --live` against the emulated Compute Engine."""

from __future__ import annotations

import json

import pytest
from tests.cloud.doctored import of
from tests.cloud.rented_gcp import REGION, Gcp
from tests.cloud.replayed import check_replay, read_recording
from tests.cloud.test_doctor_gcp import doctor as doctor  # a fixture

pytestmark = pytest.mark.slow
READS = ("get", "list", "aggregatedList", "getFromFamily", "testIamPermissions")


@pytest.fixture
def flags(gcp: Gcp) -> tuple[str, ...]:
    subnet = f"projects/{gcp.cloud.project}/regions/{REGION}/subnetworks/default"
    return (
        "--provider", "gcp", "--live", "--endpoint-url", gcp.endpoint, "--region", REGION,
        "--project", gcp.cloud.project, "--disk", "pd-ssd", "--size", "64",
        "--ssh-cidr", "203.0.113.7/32", "--subnet", subnet,
    )  # fmt: skip


def test_permissions_are_tested_and_nothing_is_made(gcp, doctor, flags):
    code, found = doctor.asked(*flags)
    tried = of(found, "dry run")
    assert {one["state"] for one in tried} == {"ok"}, tried
    assert any("subnetworks/default" in one["told"] for one in tried)
    assert {one.method.rpartition(".")[2] for one in gcp.faults.asked} <= set(READS)
    assert gcp.left() == []
    assert code == 0, found


def test_a_permission_that_is_missing_on_the_subnetwork_is_named(gcp, doctor, flags):
    gcp.faults.forbid("subnetworks.useExternalIp")
    code, found = doctor.asked(*flags)
    assert code == 2
    (refused,) = [one for one in of(found, "dry run") if one["state"] == "problem"]
    assert "compute.subnetworks.useExternalIp is missing" in refused["told"]
    assert "--print-policy gcp" in refused["advice"]


def test_the_recording_holds_nothing_private_and_is_replayed(
    gcp, doctor, flags, tmp_path, monkeypatch
):
    doctor.asked(*flags)
    file = tmp_path / "diskbench-live-gcp.json"
    text = file.read_text()
    key = json.loads(gcp.cloud.credentials.read_text())
    for private in (
        gcp.cloud.project, key["client_email"], "203.0.113.7", "PRIVATE KEY", "Bearer",
    ):  # fmt: skip
        assert private not in text, private
    recording = read_recording(file)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    before = len(gcp.faults.asked)
    check_replay(doctor, recording)
    assert len(gcp.faults.asked) == before, "the replay asked the emulator"
