"""What vSphere is asked for: each request is a file, of the types that pyVmomi knows. A lease is
read back from a machine's notes as it was written, and from nobody else's."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyVmomi import vim
from pyVmomi.VmomiJSONEncoder import VmomiJSONEncoder
from tests.rigs.golden import PLACE
from tests.unit.providers.vsphere.made import requested, resolved

from diskbench.errors import InvalidValue
from diskbench.model.rental import Claim
from diskbench.providers.vsphere import requests
from diskbench.providers.vsphere.disk_request import Template, VsphereNetwork, VspherePlace
from diskbench.providers.vsphere.requests import mark, notes
from diskbench.units import GIB

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


@pytest.mark.parametrize(
    ("controller", "template", "bus"),
    [
        ("pvscsi", {"buses": (0, 1)}, 2),
        ("lsi", {"buses": (1,)}, 0),
        ("nvme", {"buses": (0, 1, 2, 3)}, 0),
        ("nvme", {"nvme_buses": (0,)}, 1),
    ],
)
def test_the_controller_of_our_own_is_beside_the_templates(controller, template, bus):
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
