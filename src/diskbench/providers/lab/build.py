"""Making one lab host, from nothing to an sshd that answers and disks that are limited."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from diskbench.model.base import Frozen
from diskbench.model.disk import Acquired
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
    """What is written down of a lease, before anything is made: lease.json. `acquired` comes last
    and says that it is complete. `lease_id` tells it from a copy in another directory; records of
    earlier versions lack it, and the `owner`."""

    lease_id: str | None = None
    owner: str | None = None
    request: LabRequest
    made_at: float
    acquired: Acquired | None = None


def read_record(here: LeaseFolder) -> LabRecord | None:
    """What was written down of a lease; None when nothing was, or nothing that can be read."""
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
    """Make all of a host, from nothing."""
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
    # Nobody sees a disk before it is limited.
    for disk in disks:
        make_nodes(init, disk)
    acquired = handed_over(request, disks, address, access)
    write_record(here, record.model_copy(update={"acquired": acquired}))
    return acquired


def handed_over(
    request: LabRequest, disks: tuple[LabDisk, ...], address: str, access: SshAccess | None
) -> Acquired:
    """The host with its disks, as they are."""
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
    """What was read back or made up, for the record."""
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
    """What `diskbench devices` prints for it: backing file and inode."""
    return f"{disk.loop.image}:{disk.loop.image.stat().st_ino}"


def revive(here: LeaseFolder, groups: Groups) -> bool:
    """Is a complete host still there? A supervisor that is gone is started again; a disk whose
    server is gone has lost what was under way, and its host is no longer complete."""
    group = groups.of(here.lease_id)
    init = cgroups.init_of(group)
    if init is None or not all(is_served(group, i) for i in mounted(here.path)):
        return False
    if processes.supervisor_of(group) is None:
        orders = read_orders(here)
        # So that an old report is not taken for the new one's.
        save_orders(here, replace(orders, generation=orders.generation + 1))
        processes.start_supervisor(here, group, init)
    return True


def write_record(here: LeaseFolder, record: LabRecord) -> None:
    """Write down what was asked for and made, at once or not at all."""
    new = here.record.with_suffix(".new")
    new.write_text(record.model_dump_json(), "utf-8")
    new.replace(here.record)
