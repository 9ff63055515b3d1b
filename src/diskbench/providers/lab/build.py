"""Making one lab host, up to an sshd that answers and disks with limits."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from diskbench.model.base import Frozen
from diskbench.model.disk import Acquired
from diskbench.private import write_private
from diskbench.providers.lab import address as addresses
from diskbench.providers.lab import groups as cgroups
from diskbench.providers.lab import processes
from diskbench.providers.lab.disks import (
    attach_disks,
    make_nodes,
    read_orders,
    save_orders,
    size_bytes,
    write_orders,
)
from diskbench.providers.lab.guest import write_access, write_guest
from diskbench.providers.lab.latency.mounts import mounted
from diskbench.providers.lab.latency.start import is_served
from diskbench.providers.lab.request import LabRequest

if TYPE_CHECKING:
    from diskbench.model.disk import SshAccess
    from diskbench.providers.lab.disks import LabDisk
    from diskbench.providers.lab.groups import Groups
    from diskbench.providers.lab.places import LeaseFolder
    from diskbench.providers.lab.request import LabKeys


class LabRecord(Frozen):
    """The record of a lease, written before anything is made: lease.json. `acquired` is set last
    and marks a complete host. `lease_id` distinguishes the record from a copy in another
    directory; records of earlier versions lack `lease_id` and `owner`."""

    lease_id: str | None = None
    owner: str | None = None
    request: LabRequest
    made_at: float
    acquired: Acquired | None = None


def read_record(here: LeaseFolder) -> LabRecord | None:
    """The record of a lease; None when it is missing or unreadable."""
    try:
        return LabRecord.model_validate_json(here.record.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def build(
    here: LeaseFolder,
    groups: Groups,
    request: LabRequest,
    keys: LabKeys | None,
    owner: str | None = None,
) -> Acquired:
    """Make a whole host."""
    record = LabRecord(lease_id=here.lease_id, owner=owner, request=request, made_at=time.time())
    write_record(here, record)
    address, port = addresses.claim(here)
    who = {"user": request.user, "address": address}
    write_guest(here, **who, port=port, keys=keys)
    access = write_access(here, **who, port=port, keys=keys)
    group = cgroups.make_group(groups, here.lease_id)
    disks = attach_disks(here, group, request)
    write_orders(here, groups, request, disks)
    init = processes.start(here, group, address, port)
    # No disk is visible before its limits are in force.
    for disk in disks:
        make_nodes(init, disk)
    acquired = handed_over(request, disks, address, access)
    write_record(here, record.model_copy(update={"acquired": acquired}))
    return acquired


def handed_over(
    request: LabRequest, disks: tuple[LabDisk, ...], address: str, access: SshAccess | None
) -> Acquired:
    """The host with its disks in their present state."""
    first = disks[0] if disks else None
    return Acquired(
        address=address,
        device=first.names.best if first else None,
        devices=tuple(disk.names.best for disk in disks),
        identities=tuple(_identity(disk) for disk in disks),
        identity=_identity(first) if first else None,
        size_bytes=size_bytes(first.loop) if first else 0,
        facts=_facts(request, disks),
        emulated=True,
        ssh=access,
    )


def _facts(request: LabRequest, disks: tuple[LabDisk, ...]) -> dict[str, object]:
    """The facts for the record: read back from the kernel, or emulated."""
    return {
        "style": request.style,
        "time_scale": request.time_scale,
        "seed": request.seed,
        "latency_ms": request.latency_ms,
        "latency_jitter": request.latency_jitter,
        "disks": [
            {
                "volume": disk.volume,
                "node": disk.names.node,
                "links": list(disk.names.links),
                "kernel": disk.loop.kernel,
                "number": disk.loop.number,
                "identity": _identity(disk),
                "size_bytes": size_bytes(disk.loop),
                "tier": disk.limits.tier,
            }
            for disk in disks
        ],
    }


def _identity(disk: LabDisk) -> str:
    """The disk's identity as `diskbench devices` prints it: backing file and inode."""
    return f"{disk.loop.image}:{disk.loop.image.stat().st_ino}"


def revive(here: LeaseFolder, groups: Groups) -> bool:
    """Whether a complete host still exists. A missing supervisor is started again; a disk
    without its server has lost the requests in flight, and its host is no longer complete."""
    group = groups.of(here.lease_id)
    init = cgroups.init_of(group)
    if init is None or not all(is_served(group, i) for i in mounted(here.path)):
        return False
    if processes.supervisor_of(group) is None:
        orders = read_orders(here)
        # So that an old report is not read as the new supervisor's.
        save_orders(here, replace(orders, generation=orders.generation + 1))
        processes.start_supervisor(here, group, init)
    return True


def write_record(here: LeaseFolder, record: LabRecord) -> None:
    """Write the record of the request and the host atomically."""
    new = here.record.with_suffix(".new")
    write_private(new, record.model_dump_json().encode())
    new.replace(here.record)
