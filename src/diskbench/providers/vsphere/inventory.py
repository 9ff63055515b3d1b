"""What is there in vSphere: the machines of one lease or of all leases, listed by their notes and
never remembered; the facts about a datastore (kind, free space, paths and devices, and its other
users); and the operator's template with its hardware."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.rental import Which
from diskbench.providers.skeleton.leases import Tagged
from diskbench.providers.vsphere.client import Item, Ref, Vsphere, moid
from diskbench.providers.vsphere.disk_request import Template
from diskbench.providers.vsphere.errors import refused, vim
from diskbench.providers.vsphere.requests import mark
from diskbench.units import field_of

PATHS = ("name", "config.annotation", "config.template", "runtime.powerState")


def is_on(item: Item) -> bool:
    """Whether a machine is switched on."""
    return str(item.values.get("runtime.powerState")) == "poweredOn"


def marked(item: Item) -> Tagged | None:
    """The machine, if its notes say that it is of a lease."""
    return mark(item.values.get("config.annotation"), item)


def machines(vsphere: Vsphere, which: Which | None = None) -> tuple[Tagged, ...]:
    """The machines of one lease, or of all leases, in the whole inventory: a renamed datacenter
    would look like an empty one. Raises diskbench's errors."""
    listed = [one for one in map(marked, vsphere.listed("VirtualMachine", PATHS)) if one]
    if which is not None:
        carrying = (one for one in listed if one.lease_id == which.lease_id)
        listed = [one for one in carrying if which.takes(one.name, one.told)]
    return tuple(sorted(listed, key=lambda machine: (len(machine.item.id), machine.item.id)))


def named_or_only(kind: str, items: Sequence[Item], typed: str | None) -> Item:
    """The named object, or the only one. Raises UnknownName, or InvalidValue for several."""
    flag = f"--{kind.replace(' ', '-')}"
    if typed is not None:
        matches = [item for item in items if typed in {item.name, item.id}]
        if not matches:
            raise UnknownName(kind, typed, [item.name for item in items], field=field_of(flag))
        if len(matches) > 1:
            ids = ", ".join(item.id for item in matches)
            raise InvalidValue(
                f"{len(matches)} of the {kind}s are called {typed!r}",
                advice=f"name one by id: {ids}",
                field=field_of(flag),
            )
        return matches[0]
    if len(items) == 1:
        return items[0]
    if not items:
        raise refused("nothing of the kind is seen", kind=kind)
    names = ", ".join(sorted(item.name for item in items))
    raise refused("more than one", kind=kind, names=names, flag=flag)


DATASTORE = (
    "name", "summary.accessible", "summary.maintenanceMode", "summary.capacity",
    "summary.freeSpace", "summary.type", "summary.uncommitted", "summary.multipleHostAccess",
    "info", "host", "vm", "iormConfiguration.enabled",
)  # fmt: skip
"""The properties of a datastore needed for its facts."""


def datastore_facts(vsphere: Vsphere, datastore: Item, ours: str | None = None) -> dict[str, Any]:
    """The recorded facts of a datastore, without the machine `ours`; JSON values only. Objects
    that the account may not see are left out."""
    values = datastore.values
    return {
        "name": datastore.name,
        "kind": values.get("summary.type"),
        "capacity_bytes": values.get("summary.capacity"),
        "free_bytes": values.get("summary.freeSpace"),
        "uncommitted_bytes": values.get("summary.uncommitted"),
        "shared_by_hosts": values.get("summary.multipleHostAccess"),
        "storage_io_control": values.get("iormConfiguration.enabled"),
        **_volume(values.get("info")),
        "devices": _devices(vsphere, datastore),
        **contention(vsphere, datastore, ours),
    }


def contention(vsphere: Vsphere, datastore: Item, ours: str | None) -> dict[str, Any]:
    """The datastore's other users now: the number of machines on it, and of those switched on."""
    machine_ids = {moid(ref) for ref in datastore.values.get("vm") or ()} - {ours}
    if not machine_ids:
        return {"other_machines": 0, "other_machines_on": 0}
    listed = vsphere.listed("VirtualMachine", ("runtime.powerState",))
    others = [item for item in listed if item.id in machine_ids]
    return {"other_machines": len(machine_ids), "other_machines_on": sum(map(is_on, others))}


def host_facts(vsphere: Vsphere, host: Any) -> dict[str, Any]:  # noqa: ANN401 - pyVmomi's
    """The ESXi host that a machine runs on: its version and processor."""
    paths = ("name", "config.product.fullName", "summary.hardware.cpuModel", "vm")
    item = vsphere.properties(host, paths)
    values: Mapping[str, Any] = item.values if item else {}
    return {
        "esxi_host": values.get("name"),
        "esxi_version": values.get("config.product.fullName"),
        "esxi_cpu": values.get("summary.hardware.cpuModel"),
        "esxi_machines": len(values.get("vm") or ()),
    }


def _volume(info: Any) -> dict[str, Any]:  # noqa: ANN401 - pyVmomi's
    """The file system of a datastore, by the kind of its description."""
    vmfs, nas = getattr(info, "vmfs", None), getattr(info, "nas", None)
    if vmfs is not None:
        return {"file_system": f"{vmfs.type} {vmfs.version}", "ssd": vmfs.ssd, "local": vmfs.local}
    if nas is not None:
        return {"file_system": nas.type, "remote": f"{nas.remoteHost}:{nas.remotePath}"}
    return {}


def _devices(vsphere: Vsphere, datastore: Item) -> list[dict[str, Any]]:
    """Each device that a VMFS datastore lies on as its first host sees it, with the paths to it."""
    vmfs = getattr(datastore.values.get("info"), "vmfs", None)
    extents = {str(extent.diskName) for extent in getattr(vmfs, "extent", None) or ()}
    mounts = datastore.values.get("host") or ()
    if not extents or not mounts:
        return []
    host = vsphere.properties(mounts[0].key, ("config.storageDevice",))
    storage = host.values.get("config.storageDevice") if host else None
    if storage is None:
        return []
    units = {unit.lun: unit for unit in getattr(storage.multipathInfo, "lun", None) or ()}
    luns = (lun for lun in storage.scsiLun or () if lun.canonicalName in extents)
    return [_device(lun, units.get(lun.key)) for lun in luns]


def _device(lun: Any, unit: Any) -> dict[str, Any]:  # noqa: ANN401 - pyVmomi's
    paths = list(unit.path) if unit is not None else []
    transports = {
        type(path.transport).__name__.rpartition(".")[2].removesuffix("TargetTransport")
        for path in paths
        if path.transport is not None
    }
    return {
        "name": lun.canonicalName,
        "vendor": str(lun.vendor or "").strip() or None,
        "model": str(lun.model or "").strip() or None,
        "ssd": getattr(lun, "ssd", None),
        "local": getattr(lun, "localDisk", None),
        "queue_depth": lun.queueDepth,
        "transports": sorted(transports - {""}),
        "paths": len(paths),
        "active_paths": sum(path.state == "active" for path in paths),
        "path_policy": getattr(getattr(unit, "policy", None), "policy", None),
    }


def option(machine: Item, key: str) -> str | None:
    """One of the machine's extra options."""
    options = machine.values.get("config.extraConfig") or ()
    return next((str(entry.value) for entry in options if entry.key == key), None)


_PATHS = ("name", "config.template", "config.guestFullName", "config.version")


def find_template(vsphere: Vsphere, root: Ref, typed: str | None) -> Template:
    """The named template, or the only one. Raises UnknownName or InvalidValue."""
    machines = vsphere.listed("VirtualMachine", _PATHS, root)
    templates = [item for item in machines if item.values.get("config.template")]
    plain = {item.name for item in machines} - {item.name for item in templates}
    if typed in plain:
        raise refused("no template", typed=typed)
    return _described(vsphere, named_or_only("template", templates, typed))


def _described(vsphere: Vsphere, item: Item) -> Template:
    """A template. Raises InvalidValue for one whose clones need a key of vCenter's key provider."""
    paths = ("config.hardware.device", "config.keyId", "config.vAppConfig")
    config = vsphere.properties(item.ref, paths)
    values = config.values if config else {}
    devices = values.get("config.hardware.device") or ()

    def of(kind: str) -> list[Any]:
        return [one for one in devices if isinstance(one, getattr(vim.vm.device, kind))]

    def buses(kind: str) -> tuple[int, ...]:
        return tuple(sorted(int(controller.busNumber) for controller in of(kind)))

    encrypted = values.get("config.keyId") is not None or any(
        getattr(getattr(one, "backing", None), "keyId", None) for one in devices
    )
    if encrypted or of("VirtualTPM"):
        why = "has a virtual TPM" if of("VirtualTPM") else "is encrypted"
        raise refused("encrypted template", item=item, why=why)
    return Template(
        id=item.id,
        name=item.name,
        guest=item.values.get("config.guestFullName"),
        hardware=item.values.get("config.version"),
        size_bytes=sum(size_of(disk) for disk in of("VirtualDisk")),
        buses=buses("VirtualSCSIController"),
        nvme_buses=buses("VirtualNVMEController"),
        network_card=next((card.key for card in of("VirtualEthernetCard")), None),
        vapp=values.get("config.vAppConfig") is not None,
    )


def size_of(disk: Any) -> int:  # noqa: ANN401 - pyVmomi's
    """The size of a virtual disk in bytes, which old servers say in KiB only."""
    return int(disk.capacityInBytes or disk.capacityInKB * 1024)


def attribute_keys(vsphere: Vsphere, tags: Sequence[tuple[str, str]]) -> dict[str, int]:
    """vCenter's keys of the custom attributes that the tags set, by name. Raises UnknownName for
    one that is not defined there: to define it is vCenter's administrator's."""
    if not tags:
        return {}
    manager = vsphere.content.customFieldsManager
    fields = vsphere.call("CustomFieldsManager", lambda: manager.field) if manager else ()
    of_machines = {None, vim.VirtualMachine, vim.ManagedEntity}
    ours = [field for field in fields or () if field.managedObjectType in of_machines]
    keys = {str(field.name): int(field.key) for field in ours}
    for name, _ in tags:
        if name not in keys:
            raise UnknownName(
                "custom attribute of machines in vCenter", name, keys,
                advice=f"vCenter has {', '.join(sorted(keys)) or 'none'}; to define it: "
                f"govc fields.add -type VirtualMachine {name}",
                field="tags",
            )  # fmt: skip
    return {name: keys[name] for name, _ in tags}


def hardware_version(template: Template) -> int | None:
    """The hardware version: 13 for `vmx-13`; None where unknown."""
    match = re.fullmatch(r"vmx-(\d+)", template.hardware or "")
    return int(match.group(1)) if match else None
