"""The target that the flags of a run name: the only place that the run may write to. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue
from diskbench.model.spec import Filesystem, NamedDisk, TargetSpec
from diskbench.plan.rent_options import field_of
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.model.options import RentSpec
    from diskbench.plan.cells import Request

ROOT = "root"
"""The disk that a machine boots from: measured through a file only."""
NEW_DEVICE, NEW_DIRECTORY = "/dev/new-disk", "/new-disk"
"""The placeholder name of a disk in a draft plan, before the disk exists."""
SMALL_GIB = 4
"""Profiles use 4 GiB by default. On a new disk of at most that size they use seven eighths, which
leaves room for a filesystem; our choice."""
FILESYSTEMS: tuple[Filesystem, ...] = ("none", "ext4", "xfs")


def requested_target(request: Request) -> TargetSpec:
    """Return the target of a request. Raises InvalidValue for flags that contradict each other."""
    return _rented_target(request) if request.rent else _target_spec(request)


def _rented_target(request: Request) -> TargetSpec:
    """Return the target on a rented machine: the rented disk, whose name is known once it is
    attached. Raises InvalidValue if the user typed a target."""
    for flag, value in (
        ("--path", request.path),
        ("--device", next(iter(request.devices), None)),
        ("--destroy-data", next(iter(request.identities), None)),
        ("--host", request.hosts[0] if request.hosts else None),
    ):
        if value:
            raise InvalidValue(
                f"{flag} {value} cannot be used with --provider {request.provider}, which makes "
                "its own machine and disk",
                advice="leave it out, or measure a machine of yours with --provider ssh",
                field=field_of(flag),
            )
    rent = request.rent
    of_root = rent is not None and rent.disk == ROOT
    size_gib = rent.size_gib if rent else None
    others = () if of_root else _new_disks(rent)
    small = size_gib is not None and size_gib <= SMALL_GIB
    return TargetSpec(
        kind="directory" if of_root else "device",
        path=NEW_DIRECTORY if of_root else (f"{NEW_DEVICE}-1" if others else NEW_DEVICE),
        others=others,
        size_bytes=size_gib * GIB * 7 // 8 if small and size_gib else None,
        filesystem=_filesystem(request.filesystem),
    )


def _new_disks(rent: RentSpec | None) -> tuple[NamedDisk, ...]:
    """The placeholders of further rented disks, each measured as a device of its own."""
    if rent is None or rent.stripe:
        return ()
    return tuple(NamedDisk(path=f"{NEW_DEVICE}-{number}") for number in range(2, rent.count + 1))


def _target_spec(request: Request) -> TargetSpec:
    """Return the target that may be written to; for a device the user must type its identity."""
    if request.path and request.devices:
        raise InvalidValue(
            f"both --path {request.path} and --device {request.devices[0]} are given",
            advice="measure one of them",
            field="path",
        )
    filesystem = _filesystem(request.filesystem)
    size_bytes = _size_bytes(request.size_gib)
    if request.devices:
        first, *others = _named_disks(request)
        return TargetSpec(
            kind="device",
            path=first.path,
            destroy_data=first.destroy_data,
            others=tuple(others),
            size_bytes=size_bytes,
            filesystem=filesystem,
        )
    if request.identities:
        raise InvalidValue(
            "--destroy-data goes with --device",
            advice="leave it out to measure in a directory",
            field="destroy_data",
        )
    if not request.path:
        raise InvalidValue(
            "neither a directory nor a device to measure is given",
            advice="add --path DIR, or --device with --destroy-data",
        )
    return TargetSpec(
        kind="directory",
        path=request.path,
        size_bytes=size_bytes,
        filesystem=filesystem,
    )


def _named_disks(request: Request) -> list[NamedDisk]:
    """Each --device with its --destroy-data, in order. Raises InvalidValue."""
    devices, identities = request.devices, request.identities
    if len(identities) < len(devices) or not all(identities):
        raise InvalidValue(
            f"measuring {devices[min(len(identities), len(devices) - 1)]} destroys all data on it",
            advice="find its identity with 'diskbench devices' and add --destroy-data IDENTITY",
            field="device",
        )
    if len(identities) > len(devices):
        raise InvalidValue(
            f"{len(identities)} identities are given for {len(devices)} devices",
            advice="give one --destroy-data for each --device, in the same order",
            field="destroy_data",
        )
    twice = next((path for path in devices if list(devices).count(path) > 1), None)
    if twice is not None:
        raise InvalidValue(
            f"--device {twice} is given twice", advice="name each disk once", field="device"
        )
    return [
        NamedDisk(path=path, destroy_data=identity)
        for path, identity in zip(devices, identities, strict=True)
    ]


def _size_bytes(size_gib: float | None) -> int | None:
    if size_gib is None:
        return None
    if not 0 < size_gib < 2**20:
        raise InvalidValue(
            f"--size {size_gib:g} is not a size",
            advice="give GiB, more than 0: --size 20, --size 0.5",
            field="size",
        )
    return int(size_gib * GIB)


def _filesystem(name: str | None) -> Filesystem | None:
    for known in FILESYSTEMS:
        if name == known:
            return known
    if name is None:
        return None
    raise InvalidValue(
        f"unknown filesystem {name!r}",
        advice=f"known: {', '.join(FILESYSTEMS)}",
        field="filesystem",
    )
