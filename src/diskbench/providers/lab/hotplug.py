"""Attaching disks to a running host and detaching them, as a cloud does."""

from dataclasses import replace
from pathlib import Path

from diskbench.model.rental import Acquired, DiskSpec
from diskbench.providers.lab import devices, processes
from diskbench.providers.lab.build import handed_over, read_record, revive, write_record
from diskbench.providers.lab.devices import NO_LIMITS, write_limits
from diskbench.providers.lab.disks import (
    FRONT,
    LabDisk,
    attach_disk,
    make_nodes,
    ordered,
    read_orders,
    remove_nodes,
    save_orders,
    volumes_of,
)
from diskbench.providers.lab.fuse_file import unmount
from diskbench.providers.lab.places import LeaseFolder, locked, place, refused
from diskbench.providers.lab.processes import find_groups, init_of
from diskbench.providers.lab.request import LabRequest, check_lease_id


def plug_in(
    lease_id: str, volume: str, disk: DiskSpec, *, index: int, load_per_s: float = 0.0
) -> str:
    """Attach one disk (`count` is ignored) to a running host as number `index`, with its limits in
    force before it is visible; returns its path inside. Idempotent. `load_per_s` as `attach_disk`.
    Raises HostUnavailable when there is no such host, and as `machines.check` for the disk."""
    init = _init(lease_id)
    with locked(lease_id) as here:
        record = read_record(here)
        if record is None:
            raise refused("no running host", lease_id=lease_id)
        made = _plugged(here, init, record.request, index, volume, disk, load_per_s)
        return made.names[0]


def pull_out(lease_id: str, volume: str) -> None:
    """Detach a disk and delete its data; succeeds if it is not attached. Raises HostUnavailable
    when there is no such host, ReleaseFailed when something in it holds the disk."""
    init = _init(lease_id)
    with locked(lease_id) as here:
        _pulled(here, init, here.images / f"{volume}.img")


def swap(lease_id: str, request: LabRequest) -> Acquired:
    """Replace the running host's disks by those of `request`; idempotent. Raises HostUnavailable
    when there is no such host, ReleaseFailed when something in it holds a disk that is to go, and
    as `machines.check` for the disks."""
    init = _init(lease_id)
    groups = find_groups()
    with locked(lease_id) as here:
        record = read_record(here)
        if record is None or record.acquired is None or not revive(here, groups):
            raise refused("no running host", lease_id=lease_id)
        host = record.acquired
        volumes = volumes_of(here, request)
        for image in sorted(here.images.glob("*.img")):
            if image.stem not in volumes:
                _pulled(here, init, image)
        assert request.disk is not None
        each = enumerate(volumes)
        disks = tuple(_plugged(here, init, request, n, volume, request.disk) for n, volume in each)
        acquired = handed_over(request, disks, host.address, host.ssh)
        write_record(here, record.model_copy(update={"request": request, "acquired": acquired}))
        return acquired


def _plugged(
    here: LeaseFolder, init: int, request: LabRequest, index: int, volume: str, disk: DiskSpec,
    load_per_s: float = 0.0,
) -> LabDisk:  # fmt: skip
    """Attach one disk, with its limits in force before it is visible."""
    group = find_groups().of(here.lease_id)
    made = attach_disk(here, group, request, index, volume, disk, load_per_s=load_per_s)
    orders = read_orders(here)
    if all(known.kernel != made.loop.kernel for known in orders.disks):
        more = (*orders.disks, *ordered(made, request.time_scale))
        save_orders(here, replace(orders, disks=more, generation=orders.generation + 1))
    processes.await_orders(here)
    make_nodes(init, made)
    return made


def _pulled(here: LeaseFolder, init: int, image: Path) -> None:
    """Remove an image's disk from the host and from this machine, its host cache first."""
    for file in (image.with_suffix(FRONT), image):
        for loop in devices.find(file):
            remove_nodes(init, loop)
            orders = read_orders(here)
            remaining = tuple(disk for disk in orders.disks if disk.kernel != loop.kernel)
            save_orders(here, replace(orders, disks=remaining, generation=orders.generation + 1))
            processes.await_orders(here)
            write_limits(orders.version, orders.throttle, loop.number, NO_LIMITS)
            devices.detach(loop)
        unmount(file)
        file.unlink(missing_ok=True)


def _init(lease_id: str) -> int:
    check_lease_id(lease_id)
    init = init_of(find_groups().of(lease_id)) if place(lease_id).path.exists() else None
    if init is None:
        raise refused("no running host", lease_id=lease_id)
    return init
