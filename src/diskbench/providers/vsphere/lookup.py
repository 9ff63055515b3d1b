"""Resolve a rental by read-only calls: names, storage policy, free space; and how the kind of a
datastore makes disks: vSAN and virtual volumes as the policy says, and may tell that any is thin;
NFS reserves space only where every host has VAAI for NAS for it, and else refuses a disk that is
not thin (VMware, "Storage Hardware Acceleration on NAS Devices")."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from diskbench.errors import UnknownName
from diskbench.providers.networks import is_loopback
from diskbench.providers.vsphere import inventory
from diskbench.providers.vsphere.client import Item, Ref, Vsphere, moid
from diskbench.providers.vsphere.disk_request import (
    Template,
    VsphereDiskRequest,
    VsphereNetwork,
    VspherePlace,
    VsphereResolved,
)
from diskbench.providers.vsphere.errors import pbm, refused, sdk
from diskbench.providers.vsphere.login import VsphereServer, record
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.providers.vsphere.requests import bus_number
from diskbench.units import GIB, format_bytes

_RESERVE = 0.02
"""The part of a datastore to leave free: a full one stops every machine on it; our choice."""
_COMPUTE = ("name", "datastore", "host", "resourcePool", "summary.numEffectiveHosts")


def resolve_details(
    vsphere: Vsphere, server: VsphereServer, typed: VsphereOptions, requested: VsphereDiskRequest
) -> VsphereResolved:
    """Everything that must be known before renting. Raises UserError."""
    datacenters = vsphere.listed("Datacenter", ("name", "vmFolder"))
    datacenter = inventory.named_or_only("datacenter", datacenters, typed.datacenter)
    datastore, policy = _datastore(vsphere, datacenter.ref, typed)
    compute, pool, host = _compute(vsphere, datacenter.ref, typed, datastore)
    template = inventory.find_template(vsphere, datacenter.ref, typed.template)
    requested = provisioned(vsphere, datastore, typed.provisioning, requested)
    free = _check_room(datastore, template, requested)
    about = vsphere.call("About", lambda: vsphere.content.about)
    details = VsphereResolved(
        server=server.url,
        api=f"{about.fullName} (API {about.apiVersion})",
        datacenter=_place(datacenter),
        folder=_folder(vsphere, datacenter, typed.folder),
        compute=_place(compute),
        pool=pool,
        host=host,
        datastore=_place(datastore),
        policy=policy,
        network=_network(vsphere, datacenter.ref, typed.network),
        template=template,
        requested=requested,
        free_bytes=free,
        facts=inventory.datastore_facts(vsphere, datastore),
        emulated=is_loopback(server.url),
    )
    bus_number(details)
    if details.network is not None and template.network_card is None:
        raise refused("template without a card", template=template, details=details)
    return details


def _place(item: Item) -> VspherePlace:
    return VspherePlace(id=item.id, name=item.name)


def _datastore(
    vsphere: Vsphere, root: Ref, typed: VsphereOptions
) -> tuple[Item, VspherePlace | None]:
    datastores = vsphere.listed("Datastore", inventory.DATASTORE, root)
    if typed.storage_policy is not None:
        policy = find_policy(vsphere, typed.storage_policy)
        ids = matching(vsphere, policy, [item.id for item in datastores])
        fitting = [item for item in datastores if item.id in ids and _usable(item)]
        if not fitting:
            raise refused("no datastore for the policy", policy=policy)
        return max(fitting, key=lambda item: int(item.values["summary.freeSpace"])), policy
    chosen = inventory.named_or_only("datastore", datastores, typed.datastore)
    if not _usable(chosen):
        mode = chosen.values.get("summary.maintenanceMode") or "normal"
        why = "not accessible" if mode == "normal" else f"in maintenance ({mode})"
        raise refused("datastore not usable", datastore=chosen, why=why)
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
        there, needed = format_bytes(free), format_bytes(need)
        raise refused("no room", datastore=datastore, there=there, needed=needed, left=_RESERVE)
    largest = getattr(datastore.values.get("info"), "maxVirtualDiskCapacity", None)
    if largest and requested.size_gib * GIB > largest:
        raise refused(
            "datastore takes smaller disks", datastore=datastore, largest=format_bytes(largest)
        )
    return free


def _compute(
    vsphere: Vsphere, root: Ref, typed: VsphereOptions, datastore: Item
) -> tuple[Item, VspherePlace, VspherePlace | None]:
    """The cluster or host to run on, its pool, and the host if one is chosen: the named one, or the
    only one that reaches the datastore."""
    computes = vsphere.listed("ComputeResource", _COMPUTE, root)
    if typed.esxi_host is not None:
        on = _host(vsphere, root, typed.esxi_host, datastore)
        chosen = next(item for item in computes if on.id in _ids(item.values.get("host")))
        return chosen, _pool(vsphere, chosen, typed.resource_pool), _place(on)
    reaching = [item for item in computes if datastore.id in _ids(item.values.get("datastore"))]
    if typed.cluster is not None:
        chosen = inventory.named_or_only("cluster", computes, typed.cluster)
        if chosen not in reaching:
            known = ", ".join(item.name for item in reaching) or "nowhere"
            raise refused("datastore not reached", chosen=chosen, datastore=datastore, known=known)
    else:
        chosen = inventory.named_or_only("cluster", reaching, None)
    pool = _pool(vsphere, chosen, typed.resource_pool)
    return chosen, pool, _default_host(vsphere, chosen, datastore)


def _host(vsphere: Vsphere, root: Ref, typed: str, datastore: Item) -> Item:
    host = inventory.named_or_only("host", vsphere.listed("HostSystem", _HOST, root), typed)
    if datastore.id not in _ids(host.values.get("datastore")):
        raise refused("host without the datastore", host=host, datastore=datastore)
    if not _serves(host):
        raise refused("host not in service", host=host)
    return host


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
        raise refused("no host in service", compute=compute, datastore=datastore)
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
    return _place(inventory.named_or_only("resource pool", pools, typed))


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
        paths = ", ".join(sorted(map(path, matches)))
        raise refused("several folders of a name", count=len(matches), typed=typed, paths=paths)
    raise UnknownName("folder", typed, [path(item) for item in folders])


def _network(vsphere: Vsphere, root: Ref, typed: str | None) -> VsphereNetwork | None:
    """The named network; None keeps the template's."""
    if typed is None:
        return None
    network = inventory.named_or_only("network", vsphere.listed("Network", ("name",), root), typed)
    kind = type(network.ref).__name__.rpartition(".")[2]
    if kind == "OpaqueNetwork":
        raise refused("opaque network", network=network)
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


def find_policy(vsphere: Vsphere, name: str) -> VspherePlace:
    """The policy of that name. Raises UnknownName."""
    with _service(vsphere) as content:
        manager = content.profileManager

        def ask() -> list[Any]:
            kind = pbm.profile.ResourceType(resourceType="STORAGE")
            ids = manager.PbmQueryProfile(resourceType=kind, profileCategory="REQUIREMENT")
            return list(manager.PbmRetrieveContent(profileIds=ids)) if ids else []

        profiles = vsphere.call("Pbm.QueryProfile", ask)
    for profile in profiles:
        if profile.name == name:
            return VspherePlace(id=str(profile.profileId.uniqueId), name=name)
    raise UnknownName(
        "storage policy", name, [str(profile.name) for profile in profiles], field="storage_policy"
    )


def matching(vsphere: Vsphere, policy: VspherePlace, datastores: Iterable[str]) -> frozenset[str]:
    """The ids of those datastores that match the policy."""
    hub, profile = pbm.placement.PlacementHub, pbm.profile.ProfileId(uniqueId=policy.id)
    hubs = [hub(hubType="Datastore", hubId=datastore) for datastore in datastores]
    with _service(vsphere) as content:
        check = content.placementSolver.PbmCheckCompatibility
        ask = partial(check, hubsToSearch=hubs, profile=profile)
        results = vsphere.call("Pbm.CheckCompatibility", ask) or ()
    return frozenset(str(result.hub.hubId) for result in results if not result.error)


@contextlib.contextmanager
def _service(vsphere: Vsphere) -> Iterator[Any]:
    """The content of the policy service, using vCenter's session."""
    ours = vsphere.stub
    context = sdk("VmomiSupport").GetRequestContext()
    context["vcSessionCookie"] = ours.cookie.partition(";")[0].partition("=")[2].strip('"')
    host, _, port = ours.host.rpartition(":")
    stub = sdk("SoapStubAdapter")(
        host=host, port=int(port), path="/pbm", version="pbm.version.version1",
        sslContext=ours.schemeArgs.get("context"),
    )  # fmt: skip
    record(stub)
    instance = pbm.ServiceInstance("ServiceInstance", stub)
    try:
        yield vsphere.call("Pbm.RetrieveServiceContent", instance.RetrieveContent)
    finally:
        stub.DropConnections()


_BY_POLICY = frozenset({"vsan", "vsand", "vvol"})
"""Kinds of datastores (HostFileSystemVolumeFileSystemType), in lower case."""
_FILES = frozenset({"nfs", "nfs41"})


def provisioned(
    vsphere: Vsphere, datastore: Item, typed: str | None, requested: VsphereDiskRequest
) -> VsphereDiskRequest:
    """The request as this datastore makes disks; `typed` is the user's own provisioning. Raises
    InvalidValue for one that is not made there."""
    kind = str(datastore.values.get("summary.type") or "")
    if requested.provisioning is None:
        return requested
    if kind.lower() in _BY_POLICY:
        made_as, where = None, "where the storage policy decides how a disk is made"
        advice = "leave it out, or name a --storage-policy that reserves the space"
    elif kind.lower() in _FILES and not _reserves(vsphere, datastore):
        made_as, where = "thin", "without VAAI for NAS, which makes thin disks only"
        advice = "use --provisioning thin, or install the filer's VAAI plug-in on each host"
    else:
        return requested
    if typed not in {None, "thin"}:
        words = f"datastore {datastore.name} is {kind}, {where}"
        raise refused("provisioning not made there", typed=typed, words=words, instead=advice)
    return requested.model_copy(update={"provisioning": made_as})


def _reserves(vsphere: Vsphere, datastore: Item) -> bool:
    """Whether every host that mounts a datastore says that it has hardware acceleration for it
    (HostFileSystemMountInfo.vStorageSupport); a host that may not be read has none."""
    accelerated = []
    for mount in datastore.values.get("host") or ():
        host = vsphere.properties(mount.key, ("config.fileSystemVolume",))
        volumes = host.values.get("config.fileSystemVolume") if host else None
        mounts = getattr(volumes, "mountInfo", None) or ()
        here = (one.vStorageSupport for one in mounts if one.volume.name == datastore.name)
        accelerated.append("vStorageSupported" in map(str, here))
    return bool(accelerated) and all(accelerated)
