"""vSphere by VMware's simulator: what is found out before anything is made, and where it restricts
a machine: by rights, kinds of datastores, addresses of cards."""

from contextlib import contextmanager

import pytest
from emulators.vsphere.listing import operator
from tests.contract.clouds import VsphereCloud

from diskbench.catalog.books import Books
from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.model.options import RentSpec
from diskbench.providers.vsphere.disk_request import VsphereResolved
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.testing.rig import RigOnlooker, cell, claim


class User(VsphereCloud):
    """Somebody who rents, and gives everything back."""

    tags: tuple[tuple[str, str], ...] = ()

    def resolved(self, size_gib=1, **more):
        trust = str(self.vsphere.simulator.ca_file)
        typed = VsphereOptions(**{"datastore": "nvme", "ca_file": trust, **more})
        spec = RentSpec(
            size_gib=size_gib, endpoint_url=self.vsphere.endpoint, tags=self.tags, vsphere=typed
        )
        self.provider.check(cell(self, spec))
        return self.provider.resolve(cell(self, spec), Books())

    def rent(self, lease="one", **more):
        carried = claim(lease).model_copy(update={"tags": self.tags})
        return self.provider.acquire(carried, self.resolved(**more), RigOnlooker())

    @contextmanager
    def machines(self):
        """The simulator's content, and all of its machines."""
        from pyVmomi import vim

        kinds, below = [vim.VirtualMachine], True
        with operator(self.vsphere.endpoint, str(self.vsphere.simulator.ca_file)) as content:
            view = content.viewManager.CreateContainerView(content.rootFolder, kinds, below)
            yield content, view.view

    def lease(self):
        """From the first question to the last release, with another disk between."""
        self.vsphere.template("vapp")
        self.tags = (("cost-center", "42"),)
        network = {"network": "VM Network", "iops_limit": 1000}
        self.rent(**network)
        rental = self.resolved(size_gib=2, **network)
        self.provider.swap(claim("one", turn=2), rental, RigOnlooker())
        self.provider.release("one", rental.scope)


@pytest.fixture
def user(vsphere, tmp_path, monkeypatch):
    yield User(vsphere, monkeypatch, tmp_path)
    vsphere.fresh()


def test_machines_on_another_network_have_addresses_of_their_own(user):
    """Both are on at the same time: the second one with the first one's MAC would not be."""
    for lease in ("one", "two"):
        user.rent(lease, network="VM Network")
    with user.machines() as (_, machines):
        devices = [device for vm in machines for device in vm.config.hardware.device]
        macs = [device.macAddress for device in devices if hasattr(device, "macAddress")]
    assert len(macs) == len(set(macs)) == 4, "template, neighbour, and ours"


def test_on_nfs_a_disk_is_thin_or_refused_and_with_vaai_eagerly_zeroed(user):
    rental = user.resolved(datastore="nfs")
    assert rental.details["wanted"]["provisioning"] == "thin"
    user.rent(datastore="nfs")
    for typed in ("eager-zeroed", "lazy-zeroed"):
        with pytest.raises(InvalidValue, match="VAAI"):
            user.resolved(datastore="nfs", provisioning=typed)
    user.vsphere.accelerate()
    acquired = user.rent("two", datastore="nfs")
    assert acquired.facts["volumes"][0]["eager_zeroed"] is True


def test_on_vsan_the_policy_decides_and_one_with_data_services_is_the_measured_disks_alone(user):
    acquired = user.rent(datastore="vsan")
    assert acquired.facts["volumes"][0]["thin"] is True
    with pytest.raises(InvalidValue, match="policy"):
        user.resolved(datastore="vsan", provisioning="eager-zeroed")
    acquired = user.rent("two", datastore=None, storage_policy="VM Encryption Policy")
    assert acquired.facts["storage_policy"] == "VM Encryption Policy"


@pytest.mark.parametrize(("kind", "why"), [("encrypted", "is encrypted"), ("vtpm", "virtual TPM")])
def test_a_template_whose_clone_needs_a_key_is_refused(user, kind, why):
    user.vsphere.template(kind)
    with pytest.raises(InvalidValue, match=f"debian-12.*{why}"):
        user.resolved()


def test_tags_are_custom_attributes_of_the_machine(user):
    user.tags = (("cost-center", "42"), ("team", "storage"))
    user.rent()
    with user.machines() as (content, machines):
        names = {field.key: field.name for field in content.customFieldsManager.field}
        (ours,) = [vm for vm in machines if vm.name == "diskbench-one-machine"]
        assert {names[one.key]: one.value for one in ours.customValue} == dict(user.tags)


@pytest.mark.parametrize("name", ["colour", "rack"])
def test_a_tag_that_is_no_custom_attribute_of_machines_is_refused(user, name):
    user.tags = ((name, "red"),)
    with pytest.raises(UnknownName) as refused:
        user.resolved()
    assert "vCenter has cost-center, team" in refused.value.advice
    assert f"govc fields.add -type VirtualMachine {name}" in refused.value.advice


def details(rental):
    return VsphereResolved.model_validate(rental.details)


def test_what_is_alone_need_not_be_named_and_nfs_distributed_networks_and_hosts_are_known(user):
    found = details(user.resolved())
    places = (found.datacenter, found.compute, found.pool)
    assert [place.name for place in places] == ["DC0", "DC0_C0", "Resources"]
    assert (found.template.name, found.network, found.emulated) == ("debian-12", None, True)
    assert found.template.buses == (0,)
    assert user.vsphere.rented() == []
    facts = details(user.resolved(datastore="nfs")).facts
    assert (facts["kind"], facts["remote"]) == ("NFS", "filer.example:/export/nfs")
    assert facts["devices"] == []
    found = details(user.resolved(network="DC0_DVPG0", esxi_host="DC0_C0_H1"))
    assert found.network.kind == "DistributedVirtualPortgroup"
    assert all((found.network.portgroup, found.network.switch))
    assert (found.host.name, found.compute.name) == ("DC0_C0_H1", "DC0_C0")


@pytest.mark.parametrize(
    ("datastore", "model", "transports", "paths"),
    [
        ("nvme", "Samsung SSD 960", ["Pcie"], 1),
        ("sata", "Crucial_CT1024M5", ["SerialAttached"], 1),
        ("freenas", "iSCSI Disk", ["InternetScsi"], 1),
        ("san", "COMSTAR", ["InternetScsi"], 2),
    ],
)
def test_a_datastore_is_known_by_what_stands_behind_it(user, datastore, model, transports, paths):
    facts = details(user.resolved(datastore=datastore)).facts
    assert (facts["kind"], facts["file_system"]) == ("VMFS", "VMFS 6.82")
    (device,) = facts["devices"]
    assert (device["model"], device["paths"], device["active_paths"]) == (model, paths, paths)
    assert device["transports"] == transports


@pytest.mark.parametrize(
    ("flags", "kind", "told"),
    [
        ({"datastore": "nvmee"}, UnknownName, "nvme"),
        ({"datacenter": "DC1"}, UnknownName, "DC0"),
        ({"cluster": "C9"}, UnknownName, "DC0_C0"),
        ({"esxi_host": "H9"}, UnknownName, "DC0_C0_H0"),
        ({"resource_pool": "Fast"}, UnknownName, "Resources"),
        ({"folder": "bench"}, UnknownName, "folder"),
        ({"network": "LAN"}, UnknownName, "VM Network"),
        ({"template": "debian-13"}, UnknownName, "debian-12"),
        ({"template": "neighbour"}, InvalidValue, "is a machine, not a template"),
        ({"storage_policy": "gold", "datastore": None}, UnknownName, "No Requirements"),
        ({"size_gib": 5000}, InvalidValue, "4 TiB free"),
        ({"ca_file": "/etc/hostname"}, UserError, "--ca-file /etc/hostname"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(user, flags, kind, told):
    with pytest.raises(kind) as refused:
        user.resolved(**flags)
    assert told in f"{refused.value.message} {refused.value.advice}"
    assert user.vsphere.rented() == []
