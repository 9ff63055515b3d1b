"""How a kind of datastore makes disks: what can be asked of it is decided before anything is made.

vSAN and virtual volumes make a disk as its storage policy says, and may tell that any is thin. NFS
reserves space only where every host has VAAI for NAS for it, and else refuses a disk that is not
thin (VMware, "Storage Hardware Acceleration on NAS Devices").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from diskbench.providers.vsphere.client import Item, Vsphere
    from diskbench.providers.vsphere.disk_request import VsphereDiskRequest

_BY_POLICY = frozenset({"vsan", "vsand", "vvol"})
"""Kinds of datastores (HostFileSystemVolumeFileSystemType), in lower case."""
_FILES = frozenset({"nfs", "nfs41"})
_SUPPORTED = "vStorageSupported"


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
        raise InvalidValue(
            f"--provisioning {typed}: datastore {datastore.name} is {kind}, {where}",
            advice=advice,
            field="provisioning",
        )
    return requested.model_copy(update={"provisioning": made_as})


def _reserves(vsphere: Vsphere, datastore: Item) -> bool:
    """Whether every host that mounts a datastore says that it has hardware acceleration for it
    (HostFileSystemMountInfo.vStorageSupport); a host that may not be read has none."""
    accelerated = []
    for mount in datastore.values.get("host") or ():
        host = vsphere.properties(mount.key, ("config.fileSystemVolume",))
        volumes = host.values.get("config.fileSystemVolume") if host else None
        accelerated.append(
            any(
                mounted.volume.name == datastore.name and str(mounted.vStorageSupport) == _SUPPORTED
                for mounted in getattr(volumes, "mountInfo", None) or ()
            )
        )
    return bool(accelerated) and all(accelerated)
