"""What `--provider vsphere` finds out before anything is made, of VMware's simulator."""

from __future__ import annotations

from typing import Any

import pytest
from emulators.vsphere.cloud import Vsphere
from tests.books import SHIPPED
from tests.cloud.eager import VSPHERE

from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental
from diskbench.model.spec import Cell, TargetSpec
from diskbench.providers.vsphere.cloud import VsphereProvider
from diskbench.providers.vsphere.disk_request import VsphereResolved
from diskbench.providers.vsphere.plugin import VsphereOptions


@pytest.fixture
def look(vsphere: Vsphere, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The rental of a disk of 20 GiB with these of vSphere's flags."""
    for name, value in vsphere.env.items():
        monkeypatch.setenv(name, value)

    def resolve(size_gib: int = 20, **flags: Any) -> Rental:
        typed = {"ca_file": str(vsphere.simulator.ca_file), "datastore": "nvme", **flags}
        spec = RentSpec(size_gib=size_gib, vsphere=VsphereOptions(**typed))
        target = TargetSpec(kind="device", path="")
        cell = Cell(provider="vsphere", target=target, rent=spec, profile="quick")
        provider = VsphereProvider(timing=VSPHERE)
        try:
            return provider.resolve(cell, SHIPPED)
        finally:
            provider.close()

    yield resolve
    assert vsphere.rented() == []


def details(rental: Rental) -> VsphereResolved:
    return VsphereResolved.model_validate(rental.details)


def test_what_is_alone_of_its_kind_need_not_be_named(look: Any) -> None:
    found = details(look())
    places = (found.datacenter, found.compute, found.pool)
    assert [place.name for place in places] == ["DC0", "DC0_C0", "Resources"]
    assert (found.template.name, found.network, found.emulated) == ("debian-12", None, True)
    assert found.template.buses == (0,)


@pytest.mark.parametrize(
    ("datastore", "model", "transports", "paths"),
    [
        ("nvme", "Samsung SSD 960", ["Pcie"], 1),
        ("sata", "Crucial_CT1024M5", ["SerialAttached"], 1),
        ("freenas", "iSCSI Disk", ["InternetScsi"], 1),
        ("san", "COMSTAR", ["InternetScsi"], 2),
    ],
)
def test_a_datastore_is_known_by_what_stands_behind_it(
    look: Any, datastore: str, model: str, transports: list[str], paths: int
) -> None:
    facts = details(look(datastore=datastore)).facts
    assert (facts["kind"], facts["file_system"]) == ("VMFS", "VMFS 6.82")
    (device,) = facts["devices"]
    assert (device["model"], device["paths"], device["active_paths"]) == (model, paths, paths)
    assert device["transports"] == transports


def test_a_datastore_over_nfs_names_its_filer(look: Any) -> None:
    facts = details(look(datastore="nfs")).facts
    assert (facts["kind"], facts["remote"]) == ("NFS", "filer.example:/export/nfs")
    assert facts["devices"] == []


def test_a_distributed_network_is_known_by_its_port_group(look: Any) -> None:
    network = details(look(network="DC0_DVPG0")).network
    assert network is not None
    assert network.kind == "DistributedVirtualPortgroup"
    assert all((network.portgroup, network.switch))


def test_a_host_can_be_named_in_place_of_its_cluster(look: Any) -> None:
    found = details(look(esxi_host="DC0_C0_H1"))
    assert found.host is not None
    assert (found.host.name, found.compute.name) == ("DC0_C0_H1", "DC0_C0")


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
def test_what_is_not_there_is_answered_with_what_is(
    look: Any, flags: dict[str, Any], kind: type[UserError], told: str
) -> None:
    with pytest.raises(kind) as refused:
        look(**flags)
    assert told in f"{refused.value.message} {refused.value.advice}"
