"""What would be made, told in a line, and what a person should know before it is."""

import pytest
from tests.unit.providers.vsphere.made import requested, resolved

from diskbench.model.expectation import Promise
from diskbench.model.options import RentSpec
from diskbench.providers.vsphere.disk_request import Template, VspherePlace
from diskbench.providers.vsphere.login import VsphereServer
from diskbench.providers.vsphere.offer import rental

SERVER = VsphereServer("https://vcenter.example:443", "/etc/ca.pem")
NVME, OLD = requested(controller="nvme"), Template(id="vm-1", name="old", hardware="vmx-11")


def offered(details, server=SERVER, promise=None):
    return rental(RentSpec(size_gib=20), details, server, "uuid-of-vcenter", promise)


def test_the_offer_names_machine_disk_and_place_and_warns_of_nothing_ordinary():
    assert offered(resolved()).warnings == ()
    found = offered(resolved(requested=requested(iops_limit=3000)))
    assert found.offer == (
        "4 vCPUs, 8 GiB on esx-1 with 20 GiB eager-zeroed on nvme (VMFS) by pvscsi, "
        "limited to 3,000 IOPS of 32 KiB; debian-12"
    )
    assert (found.disk.type, found.disk.size_gib, found.cores) == ("nvme", 20, 4)
    # A policy is named in place of how the disk is made.
    asked, gold = requested(provisioning=None, count=2), VspherePlace(id="1", name="gold")
    details = resolved(requested=asked, policy=gold)
    assert "2 × 20 GiB policy gold on nvme (VMFS) by pvscsi" in offered(details).offer


def test_the_lease_is_found_again_at_this_installation_only():
    scope = offered(resolved()).scope
    assert (scope.endpoint, scope.account) == ("https://vcenter.example:443", "uuid-of-vcenter")
    assert (scope.ca_file, scope.insecure) == ("/etc/ca.pem", False)
    assert offered(resolved()).promise.startswith("none")
    assert "5,000 IOPS" in offered(resolved(), promise=Promise(iops=5000)).promise


@pytest.mark.parametrize(
    ("details", "server", "told"),
    [
        (resolved(), VsphereServer("https://v:443", insecure=True), "not verified"),
        (resolved(facts={"other_machines_on": 3}), SERVER, "3 other machines running on nvme"),
        (resolved(requested=requested(provisioning="thin")), SERVER, "slower at the first write"),
        (resolved(free_bytes=30 * 2**30), SERVER, "more than half of the free space"),
        (resolved(requested=NVME, template=OLD), SERVER, "11 of old has no NVMe controller"),
    ],
)
def test_what_may_spoil_the_result_is_said_before(details, server, told):
    assert told in " ".join(offered(details, server).warnings)
