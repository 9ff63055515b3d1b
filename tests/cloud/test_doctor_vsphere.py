"""`diskbench doctor --provider vsphere` against VMware's simulator, which grants everything."""

from __future__ import annotations

import json

import pytest
from tests.books import SHIPPED
from tests.cloud.doctored import Doctor, of
from tests.cloud.rented_vsphere import clone, listed
from tests.contract.vsphere_cloud import VsphereCloud
from tests.rigs.cli import a_user

from diskbench.providers.vsphere.policy import NEEDS, policy, privileges
from diskbench.testing.rig import (
    RigOnlooker,
    cell,
    claim,
    scope_of,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def doctor(vsphere, tmp_path, capsys, monkeypatch) -> Doctor:
    for name, value in vsphere.env.items():
        monkeypatch.setenv(name, value)
    return Doctor(tmp_path, capsys, monkeypatch)


@pytest.fixture
def flags(vsphere) -> tuple[str, ...]:
    trusted = ("--ca-file", str(vsphere.simulator.ca_file))
    return ("--provider", "vsphere", "--endpoint-url", vsphere.endpoint, *trusted)


def test_an_installation_that_grants_all_is_told_with_who_we_are(doctor, flags):
    code, found = doctor.asked(*flags)
    assert code == 0, found
    assert "vCenter" in of(found, "credentials")[0]["told"]
    assert of(found, "clock", "vsphere")[0]["state"] == "ok"
    told = [one["told"] for one in of(found, "permissions")]
    assert [line.partition(":")[0] for line in told] == list(privileges())
    assert all("all" in line for line in told)
    assert of(found, "quota") == []


def test_who_may_not_even_ask_is_told_so(vsphere, doctor, flags):
    vsphere.fault("HasPrivilegeOnEntities", "NoPermission", times=1)
    code, found = doctor.asked(*flags)
    assert code == 2
    assert [one["state"] for one in of(found, "permissions")] == ["problem"]


def test_a_wrong_password_is_the_one_problem(vsphere, flags, tmp_path):
    user = a_user(tmp_path)  # in a process of its own: pyVim leaves the refused connection open
    user.extra_env = vsphere.env | {"VSPHERE_PASSWORD": "wrong"}
    done = user.run("doctor", *flags, "--output", "json")
    assert done.returncode == 2
    (problem,) = [o for o in json.loads(done.stdout)["findings"] if o["state"] == "problem"]
    assert (problem["check"], "VSPHERE_USER" in problem["advice"]) == ("credentials", True)


def test_the_privileges_are_those_of_the_methods_that_are_called(vsphere, monkeypatch, tmp_path):
    """Recorded where pyVmomi sends them; what only reads takes no privilege of its own."""
    from pyVmomi import SoapAdapter

    called: set[str] = set()
    genuine = SoapAdapter.SoapStubAdapter.InvokeMethod

    def recorded(stub, this, info, args, *more, **named):
        called.add(info.wsdlName)
        return genuine(stub, this, info, args, *more, **named)

    monkeypatch.setattr(SoapAdapter.SoapStubAdapter, "InvokeMethod", recorded)
    cloud = VsphereCloud(vsphere, monkeypatch, tmp_path)
    rental = cloud.provider.resolve(cell(cloud), SHIPPED)
    cloud.provider.acquire(claim("one"), rental, RigOnlooker())
    cloud.provider.found(scope_of(cloud))
    cloud.provider.release("one", scope_of(cloud))
    reading = {
        "ContinueRetrievePropertiesEx", "CreateContainerView", "DestroyView", "Fetch", "Login",
        "Logout", "RetrieveProperties", "RetrievePropertiesEx", "RetrieveServiceContent",
    }  # fmt: skip
    only_for_policies = {"PbmQueryProfile"}
    assert (called - reading) | only_for_policies == set(NEEDS)


def test_what_is_printed_is_a_list_with_remarks():
    lines = [line for line in policy().splitlines() if not line.startswith("#")]
    assert set(lines) == {name for names in privileges().values() for name in names}


def test_gc_finds_the_expired_in_the_whole_inventory(vsphere, monkeypatch, tmp_path):
    cloud = VsphereCloud(vsphere, monkeypatch, tmp_path)
    clone(vsphere, "diskbench-old-vm", "diskbench-lease: old\ndiskbench-expires: 1")
    (found,) = cloud.provider.found(scope_of(cloud))
    assert (found.lease_id, found.expires_at) == ("old", 1.0)
    cloud.provider.release("old", found.scope)
    assert listed(vsphere) == []
