"""What may be asked of vSphere, in which words what may not is refused, and what a person should
know before. What vSphere is then asked for: each request is a file, of the types that pyVmomi
knows; a lease is read back from a machine's notes as it was written, and from nobody else's."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyVmomi import vim
from pyVmomi.VmomiJSONEncoder import VmomiJSONEncoder
from tests.rigs.golden import PLACE
from tests.unit.providers.vsphere.made import requested, resolved

from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.model.expectation import Promise
from diskbench.model.options import RentSpec
from diskbench.model.rental import Claim
from diskbench.providers.options import EmulationOptions
from diskbench.providers.vsphere import requests
from diskbench.providers.vsphere.disk_request import (
    MAX_COUNT,
    Template,
    VsphereNetwork,
    VspherePlace,
    disk_request,
    server_url,
)
from diskbench.providers.vsphere.login import VsphereServer
from diskbench.providers.vsphere.offer import rental
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.providers.vsphere.requests import mark, notes, unit_number
from diskbench.units import GIB

NVME = VsphereOptions(datastore="nvme")


def of(**more):
    """A disk of 20 GiB by these options of vSphere's."""
    return RentSpec(size_gib=20, vsphere=NVME.model_copy(update=more))


def test_a_datastore_and_a_size_are_enough_and_no_disk_takes_the_place_of_its_controller():
    found = disk_request(RentSpec(size_gib=20, vsphere=NVME))
    assert (found.provisioning, found.controller, found.vcpus) == ("eager-zeroed", "pvscsi", 4)
    assert found.memory_mib == 8192
    assert found.spec("nvme").type == "nvme"
    places = [unit_number("pvscsi", index) for index in range(MAX_COUNT)]
    assert 7 not in places
    assert len(set(places)) == MAX_COUNT
    assert [unit_number("nvme", index) for index in range(3)] == [0, 1, 2]


def test_a_storage_policy_decides_how_the_disk_is_made_unless_a_known_way_is_typed():
    gold = {"datastore": None, "storage_policy": "gold"}
    assert disk_request(of(**gold)).provisioning is None
    assert disk_request(of(**gold, provisioning="thin")).provisioning == "thin"
    with pytest.raises(UnknownName, match="eager-zeroed"):
        disk_request(of(provisioning="eager"))


@pytest.mark.parametrize("memory_gib", [0.001, 1.001, 3.3])
def test_memory_is_a_multiple_of_four_mebibytes(memory_gib):
    found = disk_request(of(memory_gib=memory_gib)).memory_mib
    assert found >= 4
    assert found % 4 == 0


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (RentSpec(size_gib=20), "needs a datastore"),
        (RentSpec(vsphere=NVME), "needs a size"),
        (RentSpec(size_gib=20, disk="gp2", vsphere=NVME), "--disk gp2"),
        (RentSpec(size_gib=20, iops=100, vsphere=NVME), "--iops 100"),
        (RentSpec(size_gib=20, throughput_mib_per_s=9, vsphere=NVME), "--throughput 9"),
        (RentSpec(size_gib=20, spot=True, vsphere=NVME), "--spot"),
        (RentSpec(size_gib=70_000, vsphere=NVME), "at most 63,488 GiB"),
        (RentSpec(size_gib=20, count=9, stripe=True, vsphere=NVME), "too many"),
        (RentSpec(size_gib=20, stripe=True, vsphere=NVME), "several disks"),
        (of(insecure=True, ca_file="b"), "--insecure and --ca-file"),
        (RentSpec(size_gib=20, vsphere=NVME, lab=EmulationOptions(noise=0.1)), "lab's options"),
    ],
)
def test_what_cannot_be_had_is_named(spec, told):
    with pytest.raises(InvalidValue) as refused:
        disk_request(spec)
    assert told in refused.value.message


def test_a_server_is_known_by_name_or_url():
    for text in ("vcenter.example", "https://vcenter.example/sdk", "https://vcenter.example:443"):
        assert server_url(text) == "https://vcenter.example:443"


@pytest.mark.parametrize("text", ["http://vcenter.example", "https://", "https://a:b", "a b"])
def test_what_is_no_server_or_would_show_the_password_is_refused(text):
    with pytest.raises(InvalidValue):
        server_url(text)


@given(st.text())
def test_any_text_is_a_server_or_refused(text):
    with contextlib.suppress(UserError):
        assert server_url(text).startswith("https://")


SERVER = VsphereServer("https://vcenter.example:443", "/etc/ca.pem")
ON_NVME, OLD = requested(controller="nvme"), Template(id="vm-1", name="old", hardware="vmx-11")


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


def test_what_may_spoil_the_result_is_said_before():
    for details, server, told in [
        (resolved(), VsphereServer("https://v:443", insecure=True), "not verified"),
        (resolved(facts={"other_machines_on": 3}), SERVER, "3 other machines running on nvme"),
        (resolved(requested=requested(provisioning="thin")), SERVER, "slower at the first write"),
        (resolved(free_bytes=30 * 2**30), SERVER, "more than half of the free space"),
        (resolved(requested=ON_NVME, template=OLD), SERVER, "11 of old has no NVMe controller"),
    ]:
        assert told in " ".join(offered(details, server).warnings)


CLAIM = Claim(lease_id="01jlease", expires_at=1_800_000_000.4, owner="me@here", version="0.1.0")
USER_DATA = "#cloud-config\n"
DATASTORE = vim.Datastore("datastore-15")
POOL, HOST = vim.ResourcePool("resgroup-9"), vim.HostSystem("host-22")
REFS = {"pool": POOL, "host": HOST, "datastore": DATASTORE}
GOLD = VspherePlace(id="aa6d5a82-1c88-45da-85d3-3d74b91a5bad", name="gold")
SWITCH = VsphereNetwork(
    id="dvportgroup-13", name="bench", kind="DistributedVirtualPortgroup", switch="50 2c",
    portgroup="dvp-13",
)  # fmt: skip
PLAIN = VsphereNetwork(id="network-7", name="VM Network", kind="Network")
LIMITED = resolved(
    requested=requested(provisioning="thin", controller="nvme", iops_limit=500, count=2),
    policy=GOLD,
)
OWN_DISK = vim.vm.device.VirtualDisk(key=2000, controllerKey=1000, unitNumber=0, capacityInKB=2**21)


def card():
    """The template's network card."""
    return vim.vm.device.VirtualVmxnet3(key=4000, controllerKey=100)


CASES = {
    "clone": requests.clone(CLAIM, resolved(), USER_DATA, "", REFS),
    "clone_everything": requests.clone(
        CLAIM, LIMITED.model_copy(update={"network": SWITCH, "host": None}),
        USER_DATA, "noise=0.1", {**REFS, "host": None, "card": card()},
    ),
    "clone_plain_network": requests.clone(
        CLAIM, resolved(network=PLAIN), USER_DATA, "",
        {**REFS, "card": card(), "network": vim.Network("network-7")},
    ),
    "add_disk": requests.add_disks(resolved(), 1001, DATASTORE, [OWN_DISK]),
    "add_disks_everything": requests.add_disks(LIMITED, 31000, DATASTORE, [OWN_DISK]),
}  # fmt: skip


def as_text(request):
    """The members that are sent: those that are set."""
    members = json.loads(json.dumps(request, cls=VmomiJSONEncoder))
    return json.dumps(_set(members), indent=2, sort_keys=True) + "\n"


def _set(found):
    if isinstance(found, list):
        return [_set(one) for one in found]
    if isinstance(found, dict):
        return {key: _set(one) for key, one in found.items() if one not in (None, [])}
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_what_its_file_says(name, golden):
    golden.check(f"requests/vsphere/{name}.json", as_text(CASES[name]))
    assert {file.stem for file in (PLACE / "requests/vsphere").iterdir()} <= set(CASES), (
        "one is left"
    )


@pytest.mark.parametrize(
    ("provisioning", "thin", "scrubbed"),
    [("thin", True, False), ("lazy-zeroed", False, False), ("eager-zeroed", False, True)],
)
def test_provisioning_is_two_words_of_the_backing(provisioning, thin, scrubbed):
    details = resolved(requested=requested(provisioning=provisioning))
    (change,) = requests.add_disks(details, 1001, DATASTORE, []).deviceChange
    backing = change.device.backing
    assert (backing.thinProvisioned, backing.eagerlyScrub) == (thin, scrubbed)
    assert change.device.capacityInBytes == 20 * GIB


def test_a_policy_says_itself_how_the_disk_is_made_and_our_controller_needs_a_free_bus():
    details = resolved(requested=requested(provisioning=None), policy=GOLD)
    (change,) = requests.add_disks(details, 1001, DATASTORE, []).deviceChange
    assert change.device.backing.thinProvisioned is None
    assert change.profile[0].profileId == GOLD.id
    full = Template(id="vm-70", name="debian-12", buses=(0, 1, 2, 3))
    with pytest.raises(InvalidValue, match="none is free"):
        requests.bus_number(resolved(template=full))
    device, details = vim.vm.device, resolved()  # the template has bus 0
    assert requests.is_ours(device.ParaVirtualSCSIController(busNumber=1), details)
    assert not requests.is_ours(device.ParaVirtualSCSIController(busNumber=0), details)
    assert not requests.is_ours(device.VirtualLsiLogicSASController(busNumber=1), details)


def test_the_controller_of_our_own_is_beside_the_templates():
    for controller, template, bus in [
        ("pvscsi", {"buses": (0, 1)}, 2),
        ("lsi", {"buses": (1,)}, 0),
        ("nvme", {"buses": (0, 1, 2, 3)}, 0),
        ("nvme", {"nvme_buses": (0,)}, 1),
    ]:
        own = Template(id="vm-70", name="debian-12", **template)
        details = resolved(requested=requested(controller=controller), template=own)
        assert requests.bus_number(details) == bus


@given(st.text())
def test_lease_and_expiry_come_back_and_no_owner_can_write_another_lease(owner):
    found = mark(notes(CLAIM.model_copy(update={"owner": owner})))
    assert (found.lease_id, found.expires_at) == ("01jlease", 1.8e9)


@given(st.text())
def test_any_notes_can_be_read(text):
    found = mark(text)
    assert found is None or "diskbench-lease" in text


def test_a_lease_that_is_no_plain_name_is_none_and_an_expiry_that_is_none_not_guessed():
    assert mark("diskbench-lease: ../../etc") is None
    assert mark(None) is None
    assert mark("diskbench-lease: one\ndiskbench-expires: soon").expires_at is None
