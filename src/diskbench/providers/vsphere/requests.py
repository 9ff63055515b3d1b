"""The requests to vSphere, and the lease in a machine's notes: the cloning call sets these, while
custom attributes need a second call and a global privilege. Pure."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from diskbench.model.rental import Claim
from diskbench.providers.skeleton.leases import LEASE_TAG, Tagged, tagged
from diskbench.providers.vsphere.client import Item
from diskbench.providers.vsphere.disk_request import Controller, VsphereDiskRequest, VsphereResolved
from diskbench.providers.vsphere.errors import refused, vim
from diskbench.units import GIB

Spec = Any
"""An object of pyVmomi's: its types are made at run time."""

LAB_OPTION = "diskbench-lab"
TURN_OPTION = "diskbench-turn"
"""Key of the turn of the disks on our controller, written with them in one change."""
SCSI_BUSES = 4
"""Controllers of a kind that a machine can have (Configuration Maximums, vSphere 6.0 and later)."""
_CONTROLLER_KEY, _DISK_KEY = -1000, -2000
"""Device keys of new devices: negative, replaced by vCenter."""
_SELF_UNIT = 7
"""The unit number of the SCSI controller itself."""
_KINDS: Mapping[Controller, str] = {
    "pvscsi": "ParaVirtualSCSIController",
    "lsi": "VirtualLsiLogicSASController",
    "nvme": "VirtualNVMEController",
}


def clone(
    claim: Claim, details: VsphereResolved, user_data: str, lab: str, refs: Mapping[str, Any]
) -> Spec:
    """Clone a lease's machine: switched off, with our controller and no disk on it yet. `refs` are
    the managed objects of pool, host and datastore. The storage policy is that of the disks to
    measure alone: vSphere applies none that has data services to a clone. cloud-init reads its user
    data from guestinfo (cloud-init, "VMware" data source: base64, with the encoding in a second
    key)."""
    place = {name: refs.get(name) for name in ("pool", "host", "datastore")}
    location = vim.vm.RelocateSpec(**place)
    changes = [_controller(details)]
    if details.network is not None:
        changes.append(_network_card(details, refs["card"], refs.get("network")))
    metadata = {"instance-id": claim.lease_id, "local-hostname": f"diskbench-{claim.lease_id}"}
    options = {
        # Without it the guest does not see its disks' identifiers.
        "disk.EnableUUID": "TRUE",
        "guestinfo.metadata": _encoded(json.dumps(metadata)),
        "guestinfo.metadata.encoding": "base64",
        "guestinfo.userdata": _encoded(user_data),
        "guestinfo.userdata.encoding": "base64",
        # The configuration of an emulated machine; a real one has none.
        **({LAB_OPTION: lab} if lab else {}),
    }
    extra = [vim.option.OptionValue(key=key, value=value) for key, value in options.items()]
    config = vim.vm.ConfigSpec(
        annotation=notes(claim), numCPUs=details.requested.vcpus, numCoresPerSocket=1,
        memoryMB=details.requested.memory_mib, deviceChange=changes, extraConfig=extra,
    )  # fmt: skip
    return vim.vm.CloneSpec(location=location, powerOn=False, template=False, config=config)


def bus_number(details: VsphereResolved) -> int:
    """The bus of our own controller: the first that the template does not use."""
    template = details.template
    taken = template.nvme_buses if details.requested.controller == "nvme" else template.buses
    free = [bus for bus in range(SCSI_BUSES) if bus not in taken]
    if free:
        return free[0]
    raise refused("no controller left", template=template, scsi_buses=SCSI_BUSES)


def is_ours(device: Spec, details: VsphereResolved) -> bool:
    """Whether a device of the machine is our own controller."""
    kind = _KINDS[details.requested.controller]
    type_name = type(device).__name__.rpartition(".")[2]
    return bool(type_name == kind and device.busNumber == bus_number(details))


def add_disks(
    details: VsphereResolved,
    controller_key: int,
    datastore: Any,  # noqa: ANN401 - as Spec
    others: Sequence[Spec],
    turn: int = 1,
) -> Spec:
    """Add the disks to measure in a turn to our controller. `others` are the machine's own
    disks: a limit counts only where every disk of the machine has one (VMware, "vSphere Resource
    Management", Storage I/O Control). ESXi's scheduler enforces it, and counts ceil(bytes / 32
    KiB) for a request (Broadcom KB 385258, as stored 2026)."""
    changes = [
        _disk(details, controller_key, datastore, index) for index in range(details.requested.count)
    ]
    if details.requested.iops_limit is not None:
        for device in others:
            device.storageIOAllocation = _allocation(details.requested)
            operation = vim.vm.device.VirtualDeviceSpec.Operation.edit
            changes.append(vim.vm.device.VirtualDeviceSpec(operation=operation, device=device))
    spec = vim.vm.ConfigSpec(deviceChange=changes)
    if turn > 1:
        spec.extraConfig = [vim.option.OptionValue(key=TURN_OPTION, value=str(turn))]
    return spec


def remove_disks(devices: Sequence[Spec]) -> Spec:
    """Remove these disks from the machine and their files from the datastore."""
    change = vim.vm.device.VirtualDeviceSpec
    how = {"operation": change.Operation.remove, "fileOperation": change.FileOperation.destroy}
    return vim.vm.ConfigSpec(deviceChange=[change(device=device, **how) for device in devices])


def unit_number(controller: Controller, index: int) -> int:
    """The unit number of disk number `index` on the controller."""
    return index if controller == "nvme" or index < _SELF_UNIT else index + 1


def _disk(details: VsphereResolved, controller_key: int, datastore: Any, index: int) -> Spec:  # noqa: ANN401 - as Spec
    requested = details.requested
    backing = vim.vm.device.VirtualDisk.FlatVer2BackingInfo(
        fileName=f"[{details.datastore.name}]",
        datastore=datastore,
        # Independent: no snapshot ever affects the measured disk.
        diskMode="independent_persistent",
    )
    if requested.provisioning is not None:
        backing.thinProvisioned = requested.provisioning == "thin"
        backing.eagerlyScrub = requested.provisioning == "eager-zeroed"
    device = vim.vm.device.VirtualDisk(
        key=_DISK_KEY - index,
        controllerKey=controller_key,
        unitNumber=unit_number(requested.controller, index),
        capacityInKB=requested.size_gib * GIB // 1024,
        capacityInBytes=requested.size_gib * GIB,
        backing=backing,
    )
    if requested.iops_limit is not None:
        device.storageIOAllocation = _allocation(requested)
    spec = vim.vm.device.VirtualDeviceSpec(
        operation=vim.vm.device.VirtualDeviceSpec.Operation.add,
        fileOperation=vim.vm.device.VirtualDeviceSpec.FileOperation.create,
        device=device,
    )
    if details.policy is not None:
        spec.profile = [vim.vm.DefinedProfileSpec(profileId=details.policy.id)]
    return spec


def _allocation(requested: VsphereDiskRequest) -> Spec:
    shares = vim.SharesInfo(level=vim.SharesInfo.Level.normal, shares=1000)
    return vim.StorageResourceManager.IOAllocationInfo(limit=requested.iops_limit, shares=shares)


def _controller(details: VsphereResolved) -> Spec:
    kind = getattr(vim.vm.device, _KINDS[details.requested.controller])
    device = kind(key=_CONTROLLER_KEY, busNumber=bus_number(details))
    if details.requested.controller != "nvme":
        device.sharedBus = vim.vm.device.VirtualSCSIController.Sharing.noSharing
    return vim.vm.device.VirtualDeviceSpec(
        operation=vim.vm.device.VirtualDeviceSpec.Operation.add, device=device
    )


def _network_card(details: VsphereResolved, card: Any, network: Any) -> Spec:  # noqa: ANN401 - as Spec
    """The template's card, on another network, with a MAC address that vCenter generates: the
    template's own, sent back, would be every clone's (VirtualEthernetCard.addressType)."""
    chosen, kind = details.network, vim.vm.device.VirtualEthernetCard
    assert chosen is not None
    card.addressType, card.macAddress = "generated", None
    if chosen.portgroup is not None:
        port = vim.dvs.PortConnection(portgroupKey=chosen.portgroup, switchUuid=chosen.switch)
        card.backing = kind.DistributedVirtualPortBackingInfo(port=port)
    else:
        card.backing = kind.NetworkBackingInfo(deviceName=chosen.name, network=network)
    card.connectable = vim.vm.device.VirtualDevice.ConnectInfo(
        startConnected=True, allowGuestControl=True, connected=True
    )
    return vim.vm.device.VirtualDeviceSpec(
        operation=vim.vm.device.VirtualDeviceSpec.Operation.edit, device=card
    )


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_LINE = re.compile(r"^(diskbench-(?:lease|expires|owner|version)): (.*)$", re.MULTILINE)
_LEASE = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


def machine_name(lease_id: str) -> str:
    """The name of a lease's machine, and of its directories on datastores."""
    return f"diskbench-{lease_id}-machine"


def notes(claim: Claim) -> str:
    """The notes of the machine of `claim`."""
    return (
        "Made by diskbench to measure a disk; it is deleted when its lease ends.\n"
        f"diskbench-lease: {claim.lease_id}\n"
        f"diskbench-expires: {claim.expires_at:.0f}\n"
        f"diskbench-owner: {' '.join(claim.owner.split())}\n"
        f"diskbench-version: {claim.version}"
    )


def new_expiry(annotation: str, expires_at: float) -> Spec:
    """Set a new expiry in the machine's notes, whose present text is `annotation`; the other text
    stays."""
    line = f"diskbench-expires: {expires_at:.0f}"
    lines = [one for one in annotation.splitlines() if not one.startswith("diskbench-expires: ")]
    leases = (n for n, one in enumerate(lines, 1) if one.startswith("diskbench-lease: "))
    at = next(leases, 0)
    return vim.vm.ConfigSpec(annotation="\n".join([*lines[:at], line, *lines[at:]]))


def mark(annotation: str | None, item: Item | None = None) -> Tagged | None:
    """The lease in the notes of the machine `item`; None for a machine of somebody else. Expiry and
    owner are None where they cannot be read."""
    fields = {key: value.strip() for key, value in _LINE.findall(annotation or "")}
    if not _LEASE.fullmatch(fields.get(LEASE_TAG, "")):
        return None
    told, name = (f"machine {item.id}", item.name) if item else ("", None)
    return tagged(fields, told, name, item)
