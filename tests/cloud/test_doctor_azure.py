"""`diskbench doctor --provider azure` against the emulated Azure."""

from __future__ import annotations

import pytest
from tests.cloud.azure_rig import Rig
from tests.cloud.doctored import Doctor, of
from tests.cloud.rented_azure import REGION, Azure

from diskbench.providers.azure.policy import actions

pytestmark = pytest.mark.slow


@pytest.fixture
def doctor(azure: Azure, tmp_path, capsys, monkeypatch) -> Doctor:
    for name, value in azure.env.items():
        monkeypatch.setenv(name, value)
    return Doctor(tmp_path, capsys, monkeypatch)


@pytest.fixture
def flags(azure: Azure) -> tuple[str, ...]:
    return ("--provider", "azure", "--endpoint-url", azure.endpoint, "--region", REGION)


def test_a_subscription_that_may_all_is_told_with_what_is_left_in_the_region(azure, doctor, flags):
    code, found = doctor.asked(*flags)
    assert code == 0, found
    (who,) = of(found, "credentials")
    assert "in subscription" in who["told"]
    assert of(found, "clock", "azure")[0]["state"] == "ok"
    every = len(actions())
    assert of(found, "permissions")[0]["told"] == f"{every} of {every} actions are allowed"
    quotas = {one["told"] for one in of(found, "quota")}
    assert quotas == {
        "Total Regional vCPUs: 100 of 100 left", "Public IP Addresses: 1,000 of 1,000 left",
    }  # fmt: skip
    assert azure.left() == []


def test_what_is_not_allowed_is_named_without_trying_it(azure, doctor, flags):
    azure.faults.forbid("Microsoft.Compute/disks/write")
    code, found = doctor.asked(*flags)
    assert code == 2
    (denied,) = [one for one in of(found, "permissions") if one["state"] == "problem"]
    assert denied["told"] == "Microsoft.Compute/disks/write is not allowed"
    assert "--print-policy azure" in denied["advice"]
    assert azure.faults.calls("Microsoft.Compute/disks/write") == []


def test_quotas_that_may_not_be_seen_are_a_warning(azure, doctor, flags):
    azure.faults.forbid("Microsoft.Compute/locations/usages/read")
    code, found = doctor.asked(*flags)
    assert code == 0
    assert [one["state"] for one in of(found, "quota")] == ["warning"]


def test_without_a_region_there_is_no_quota_to_tell(azure, doctor, monkeypatch):
    monkeypatch.delenv("AZURE_DEFAULTS_LOCATION", raising=False)
    _, found = doctor.asked("--provider", "azure", "--endpoint-url", azure.endpoint)
    (told,) = of(found, "quota")
    assert (told["state"], "--region" in told["advice"]) == ("warning", True)


def test_credentials_that_expired_are_the_one_problem(azure, doctor, flags):
    azure.faults.expire_credentials()
    code, found = doctor.asked(*flags)
    assert code == 2
    problems = [one for one in found if one["state"] == "problem"]
    assert len(problems) == 1
    assert "az login" in problems[0]["advice"]


@pytest.mark.parametrize("region", ["eastus", "westus3"])
def test_gc_finds_the_expired_of_every_region(azure, monkeypatch, tmp_path, region):
    """In one listing of the subscription: a resource group goes with all that is in it."""
    for name, value in azure.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    rig = Rig(azure)
    tags = {"diskbench-lease": "old", "diskbench-expires": "1"}
    made = {"location": region, "tags": tags}
    azure.resources.resource_groups.create_or_update("diskbench-old", made)
    azure.network.public_ip_addresses.begin_create_or_update(
        "diskbench-old",
        "diskbench-old-ip",
        {
            "location": region,
            "sku": {"name": "Standard"},
            "properties": {"publicIPAllocationMethod": "Static"},
        },
    ).result()
    anywhere = rig.scope().model_copy(update={"region": None})
    (found,) = rig.provider.found(anywhere)
    assert (found.lease_id, found.scope.region, found.expires_at) == ("old", region, 1.0)
    assert set(found.resources) == {
        "resource-group diskbench-old",
        "publicIPAddresses diskbench-old-ip",
    }
    rig.provider.release("old", found.scope)
    assert azure.left() == []
