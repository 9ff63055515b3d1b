"""Resolve a rental by read-only calls: every name, the free space and the privileges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.errors import InvalidValue, UnknownName
from diskbench.providers.networks import is_loopback
from diskbench.providers.vsphere.client import moid
from diskbench.providers.vsphere.facts import DATASTORE, datastore_facts
from diskbench.providers.vsphere.inventory import named_or_only
from diskbench.providers.vsphere.policy import find_policy, matching
from diskbench.providers.vsphere.provisioning import provisioned
from diskbench.providers.vsphere.requests import bus_number
from diskbench.providers.vsphere.resolved import (
    Policy,
    VsphereNetwork,
    VspherePlace,
    VsphereResolved,
)
from diskbench.providers.vsphere.template import find_template
from diskbench.units import GIB, format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.providers.vsphere.client import Item, Ref, Vsphere
    from diskbench.providers.vsphere.disk_request import VsphereDiskRequest
    from diskbench.providers.vsphere.login import VsphereServer
    from diskbench.providers.vsphere.options import VsphereOptions
    from diskbench.providers.vsphere.resolved import Template

_RESERVE = 0.02
"""The part of a datastore to leave free: a full one stops every machine on it; our choice."""
_COMPUTE = ("name", "datastore", "host", "resourcePool", "summary.numEffectiveHosts")


@dataclass(frozen=True)
class VsphereLocation:
    """The machine's place: a cluster or host, the datacenter and pool, and the host if chosen."""

    compute: Item
    pool: VspherePlace
    host: VspherePlace | None


def resolve_details(
    vsphere: Vsphere, server: VsphereServer, typed: VsphereOptions, requested: VsphereDiskRequest
) -> VsphereResolved:
    """Everything that must be known before renting. Raises UserError."""
    datacenter = named_or_only(
        "datacenter", vsphere.listed("Datacenter", ("name", "vmFolder")), typed.datacenter
    )
    datastore, policy = _datastore(vsphere, datacenter.ref, typed)
    chosen = _compute(vsphere, datacenter.ref, typed, datastore)
    template = find_template(vsphere, datacenter.ref, typed.template)
    requested = provisioned(vsphere, datastore, typed.provisioning, requested)
    free = _check_room(datastore, template, requested)
    about = vsphere.call("About", lambda: vsphere.content.about)
    details = VsphereResolved(
        server=server.url,
        api=f"{about.fullName} (API {about.apiVersion})",
        datacenter=_place(datacenter),
        folder=_folder(vsphere, datacenter, typed.folder),
        compute=_place(chosen.compute),
        pool=chosen.pool,
        host=chosen.host,
        datastore=_place(datastore),
        policy=policy,
        network=_network(vsphere, datacenter.ref, typed.network),
        template=template,
        requested=requested,
        free_bytes=free,
        facts=datastore_facts(vsphere, datastore),
        emulated=is_loopback(server.url),
    )
    bus_number(details)
    if details.network is not None and template.network_card is None:
        raise InvalidValue(
            f"template {template.name} has no network card to put on {details.network.name}",
            advice="choose another --template, or leave --network out",
        )
    return details


def _place(item: Item) -> VspherePlace:
    return VspherePlace(id=item.id, name=item.name)


def _datastore(vsphere: Vsphere, root: Ref, typed: VsphereOptions) -> tuple[Item, Policy | None]:
    datastores = vsphere.listed("Datastore", DATASTORE, root)
    if typed.storage_policy is not None:
        policy = find_policy(vsphere, typed.storage_policy)
        ids = matching(vsphere, policy, [item.id for item in datastores])
        fitting = [item for item in datastores if item.id in ids and _usable(item)]
        if not fitting:
            raise InvalidValue(
                f"no datastore can be used that fits the storage policy {policy.name!r}",
                advice="choose another --storage-policy, or a --datastore",
            )
        return max(fitting, key=lambda item: int(item.values["summary.freeSpace"])), policy
    chosen = named_or_only("datastore", datastores, typed.datastore)
    if not _usable(chosen):
        mode = chosen.values.get("summary.maintenanceMode") or "normal"
        why = "not accessible" if mode == "normal" else f"in maintenance ({mode})"
        raise InvalidValue(f"datastore {chosen.name} is {why}", advice="choose another --datastore")
    return chosen, None


def _usable(item: Item) -> bool:
    mode = item.values.get("summary.maintenanceMode") or "normal"
    return bool(item.values.get("summary.accessible", True)) and mode == "normal"


def _check_room(datastore: Item, template: Template, requested: VsphereDiskRequest) -> int:
    """The free bytes, if they suffice for all that may be written and not only for what is
    allocated at once, because filling writes the whole disk. vSphere itself does not check thin
    disks."""
    free, capacity = (int(datastore.values[f"summary.{n}"]) for n in ("freeSpace", "capacity"))
    swap = int(requested.memory_gib * GIB)
    need = requested.size_gib * requested.count * GIB + template.size_bytes + swap
    if need > free - capacity * _RESERVE:
        raise InvalidValue(
            f"datastore {datastore.name} has {format_bytes(free)} free, "
            f"{format_bytes(need)} are needed: disk, the machine's own disk and its swap file, and "
            f"{_RESERVE:.0%} stay free",
            advice="give a smaller --size or less --memory, or choose another --datastore",
        )
    largest = getattr(datastore.values.get("info"), "maxVirtualDiskCapacity", None)
    if largest and requested.size_gib * GIB > largest:
        raise InvalidValue(
            f"a disk on {datastore.name} has at most {format_bytes(largest)}",
            advice="give a smaller --size",
        )
    return free


def _compute(
    vsphere: Vsphere, root: Ref, typed: VsphereOptions, datastore: Item
) -> VsphereLocation:
    """The place to run: the named one, or the only one that reaches the datastore."""
    computes = vsphere.listed("ComputeResource", _COMPUTE, root)
    if typed.esxi_host is not None:
        return _on_host(vsphere, root, typed, datastore, computes)
    reaching = [item for item in computes if datastore.id in _ids(item.values.get("datastore"))]
    if typed.cluster is not None:
        chosen = named_or_only("cluster", computes, typed.cluster)
        if chosen not in reaching:
            raise InvalidValue(
                f"{chosen.name} does not reach datastore {datastore.name}",
                advice=f"reached from {', '.join(i.name for i in reaching) or 'nowhere'}",
            )
    else:
        chosen = named_or_only("cluster", reaching, None)
    pool = _pool(vsphere, chosen, typed.resource_pool)
    return VsphereLocation(chosen, pool, _default_host(vsphere, chosen, datastore))


def _on_host(
    vsphere: Vsphere, root: Ref, typed: VsphereOptions, datastore: Item, computes: Sequence[Item]
) -> VsphereLocation:
    hosts = vsphere.listed("HostSystem", _HOST, root)
    host = named_or_only("host", hosts, typed.esxi_host)
    if datastore.id not in _ids(host.values.get("datastore")):
        raise InvalidValue(
            f"host {host.name} does not reach datastore {datastore.name}",
            advice="choose another --host or --datastore",
        )
    if not _serves(host):
        raise InvalidValue(
            f"host {host.name} is not connected, or in maintenance", advice="choose another --host"
        )
    compute = next(item for item in computes if host.id in _ids(item.values.get("host")))
    return VsphereLocation(compute, _pool(vsphere, compute, typed.resource_pool), _place(host))


_HOST = ("name", "datastore", "runtime.connectionState", "runtime.inMaintenanceMode", "vm")


def _default_host(vsphere: Vsphere, compute: Item, datastore: Item) -> VspherePlace | None:
    """The host to clone to where DRS does not balance the load: the one with the fewest
    machines. None leaves it to vSphere (DRS)."""
    cluster = vsphere.properties(compute.ref, ("configurationEx",))
    drs = getattr(cluster.values.get("configurationEx") if cluster else None, "drsConfig", None)
    hosts = [
        host
        for host in vsphere.listed("HostSystem", _HOST, compute.ref)
        if _serves(host) and datastore.id in _ids(host.values.get("datastore"))
    ]
    if not hosts:
        raise InvalidValue(
            f"no host of {compute.name} that reaches {datastore.name} is connected",
            advice="choose another --cluster or --datastore",
        )
    if drs is not None and drs.enabled:
        return None
    return _place(min(hosts, key=lambda host: (len(host.values.get("vm") or ()), host.name)))


def _serves(host: Item) -> bool:
    values = host.values
    state = str(values.get("runtime.connectionState", "connected"))
    return state == "connected" and not values.get("runtime.inMaintenanceMode", False)


def _pool(vsphere: Vsphere, compute: Item, typed: str | None) -> VspherePlace:
    if typed is None:
        return VspherePlace(id=moid(compute.values["resourcePool"]), name="Resources")
    pools = vsphere.listed("ResourcePool", ("name",), compute.ref)
    return _place(named_or_only("resource pool", pools, typed))


def _folder(vsphere: Vsphere, datacenter: Item, typed: str | None) -> VspherePlace:
    """A folder by its name, or by its path below the datacenter's folder of machines."""
    root = datacenter.values["vmFolder"]
    if typed is None:
        return VspherePlace(id=moid(root), name="vm")
    folders = vsphere.listed("Folder", ("name", "parent"), root)
    by_id = {item.id: item for item in folders}

    def path(item: Item) -> str:
        parent = by_id.get(moid(item.values["parent"]))
        return f"{path(parent)}/{item.name}" if parent else item.name

    matches = [item for item in folders if typed.strip("/") in {item.name, path(item), item.id}]
    if len(matches) == 1:
        return _place(matches[0])
    if matches:
        raise InvalidValue(
            f"{len(matches)} folders are called {typed!r}",
            advice=f"give one by its path: {', '.join(sorted(path(item) for item in matches))}",
        )
    raise UnknownName("folder", typed, [path(item) for item in folders])


def _network(vsphere: Vsphere, root: Ref, typed: str | None) -> VsphereNetwork | None:
    """The named network; None keeps the template's."""
    if typed is None:
        return None
    network = named_or_only("network", vsphere.listed("Network", ("name",), root), typed)
    kind = type(network.ref).__name__.rpartition(".")[2]
    if kind == "OpaqueNetwork":
        raise InvalidValue(
            f"network {network.name} is an opaque one of NSX, which is not supported",
            advice="choose a port group, or a template that is on it",
        )
    switch, portgroup = None, None
    if kind == "DistributedVirtualPortgroup":
        more = vsphere.properties(network.ref, ("key", "config.distributedVirtualSwitch"))
        values: dict[str, Any] = more.values if more else {}
        portgroup = str(values["key"])
        about = vsphere.properties(values["config.distributedVirtualSwitch"], ("uuid",))
        switch = str(about.values["uuid"]) if about else None
    return VsphereNetwork(
        id=network.id, name=network.name, kind=kind, switch=switch, portgroup=portgroup
    )


def _ids(refs: Sequence[Ref] | None) -> frozenset[str]:
    return frozenset(moid(ref) for ref in refs or ())
