"""`diskbench doctor --provider gcp` against the emulated Google Cloud."""

from __future__ import annotations

import pytest
from emulators.gcp.server import ACCOUNT
from tests.cloud.doctored import Doctor, of
from tests.cloud.rented_gcp import Gcp, disk

pytestmark = pytest.mark.slow


@pytest.fixture
def doctor(gcp: Gcp, tmp_path, capsys, monkeypatch) -> Doctor:
    for name, value in gcp.env.items():
        monkeypatch.setenv(name, value)
    for name in ("CLOUDSDK_COMPUTE_REGION", "CLOUDSDK_COMPUTE_ZONE"):
        monkeypatch.delenv(name, raising=False)
    return Doctor(tmp_path, capsys, monkeypatch)


@pytest.fixture
def flags(gcp: Gcp) -> tuple[str, ...]:
    return ("--provider", "gcp", "--endpoint-url", gcp.endpoint)


def test_a_project_that_may_all_is_told_with_what_is_left_in_the_region(gcp, doctor, flags):
    disk(gcp, kind="pd-ssd", size=20, zone="europe-west1-b")
    code, found = doctor.asked(*flags, "--region", "europe-west1")
    assert code == 0, found
    (who,) = of(found, "credentials")
    assert "@" in who["told"]
    assert of(found, "clock", "gcp")[0]["state"] == "ok"
    (held,) = of(found, "permissions")
    assert held["told"] == "39 of 39 permissions are there"
    quotas = {one["told"] for one in of(found, "quota")}
    assert "CPUS: 2,400 of 2,400 left" in quotas
    assert "SSD_TOTAL_GB: 131,052 of 131,072 left" in quotas


def test_what_is_missing_is_named_without_trying_it(gcp, doctor, flags):
    gcp.faults.forbid("disks.insert")
    code, found = doctor.asked(*flags)
    assert code == 2
    (denied,) = [one for one in of(found, "permissions") if one["state"] == "problem"]
    assert denied["told"] == "compute.disks.create is missing"
    assert gcp.faults.calls("disks.insert") == []


def test_a_quota_that_is_used_up_is_a_warning(gcp, doctor, flags):
    gcp.faults.quota("CPUS", 0)
    code, found = doctor.asked(*flags)
    assert code == 0
    (told,) = [one for one in of(found, "quota") if one["state"] == "warning"]
    assert told["told"] == "CPUS: 0 of 0 left: none can be rented until something is given back"


def test_credentials_that_expired_are_the_one_problem(gcp, doctor, flags):
    gcp.faults.expire_credentials()
    code, found = doctor.asked(*flags)
    assert code == 2
    (problem,) = [one for one in found if one["state"] == "problem"]
    assert problem["check"] == "credentials"
    assert "gcloud auth" in problem["advice"]


def test_permissions_that_cannot_be_asked_about_are_a_warning(doctor, flags):
    code, found = doctor.asked(*flags, "--project", "somebody-elses")
    assert [one["state"] for one in of(found, "permissions")] == ["warning"], found
    assert code == 0


def test_gc_finds_the_expired_of_every_region_in_one_listing(gcp, monkeypatch, tmp_path):
    from tests.cloud.eager import GCP

    from diskbench.model.rental import Scope
    from diskbench.providers.gcp.cloud import GCPProvider

    for name, value in gcp.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    labels = {"diskbench-lease": "old", "diskbench-expires": "1"}
    zones = ("us-central1-a", "us-east1-b", "europe-west1-c")
    for zone in zones:
        disk(gcp, name="diskbench-old-disk-0", zone=zone, labels=labels)
    provider = GCPProvider(timing=GCP)
    (found,) = provider.found(Scope(provider="gcp", endpoint=gcp.endpoint))
    assert set(found.resources) == {f"disk {zone}/diskbench-old-disk-0" for zone in zones}
    provider.release("old", found.scope)
    assert gcp.left() == []


@pytest.mark.parametrize(
    ("name", "state", "says"),
    [
        ("compute.vmExternalIpAccess", "warning", "--iap"),
        ("compute.requireOsLogin", "problem", "does not use OS Login"),
        ("compute.requireShieldedVm", "ok", ""),
    ],
)
def test_a_constraint_of_the_organisation_is_named(gcp, doctor, flags, name, state, says):
    gcp.cloud.constraints.enforced.add(name)
    code, found = doctor.asked(*flags)
    (told,) = of(found, "constraints")
    assert told["state"] == state
    assert f"constraints/{name} is enforced" in told["told"]
    assert says in told["advice"]
    assert code == (2 if state == "problem" else 0)


def test_constraints_that_cannot_be_read_are_one_warning(gcp, doctor, flags):
    lacking = gcp.cloud.roles[ACCOUNT] - {"orgpolicy.policy.get"}
    gcp.cloud.roles[ACCOUNT] = lacking
    code, found = doctor.asked(*flags)
    assert code == 0
    assert [one["state"] for one in of(found, "constraints")] == ["warning"]
    (missing,) = [one for one in of(found, "permissions") if one["state"] != "ok"]
    assert missing["state"] == "warning"
