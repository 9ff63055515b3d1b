"""The disks of a lab host: images, loop devices, limits, and the processes that serve a slow
disk and its host cache."""

import contextlib
import json
import os
import stat
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from diskbench.catalog.bucket import LAB_CUT_BYTES, Allowance, cut_at, scaled
from diskbench.catalog.lookup import DiskLimits
from diskbench.errors import HostUnavailable
from diskbench.files import write_private
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab import devices, processes
from diskbench.providers.lab.devices import LoopDevice
from diskbench.providers.lab.fuse_file import mounted
from diskbench.providers.lab.places import LeaseFolder, refused
from diskbench.providers.lab.processes import Groups
from diskbench.providers.lab.request import (
    LabRequest,
    check_volume,
    disk_names,
    made_up_volume,
    real_limits,
)
from diskbench.providers.lab.supervisor import rates
from diskbench.units import GIB


@dataclass(frozen=True)
class LabDisk:
    """One attached disk: `names` as of `disk_names`, `loop` is what the guest sees, `behind` the
    disk itself where a host cache is before it."""

    volume: str
    names: tuple[str, ...]
    loop: LoopDevice
    limits: DiskLimits
    behind: LoopDevice | None = None


def attach_disks(place: LeaseFolder, group: Path, request: LabRequest) -> tuple[LabDisk, ...]:
    """Make images and loop devices for all requested disks; existing ones are kept. The servers
    of slow disks run in `group`."""
    if request.disk is None:
        return ()
    volumes = enumerate(volumes_of(place, request))
    return tuple(attach_disk(place, group, request, *each, request.disk) for each in volumes)


def volumes_of(place: LeaseFolder, request: LabRequest) -> tuple[str, ...]:
    """The ids of the requested disks: as given, generated where they are missing."""
    count, given = request.disk.count if request.disk else 0, request.volumes
    missing = range(len(given), count)
    of = (request.style, place.lease_id)
    return (*given, *(made_up_volume(*of, index, request.turn) for index in missing))[:count]


def write_orders(
    place: LeaseFolder, groups: Groups, request: LabRequest, disks: tuple[LabDisk, ...]
) -> None:
    """The first orders of a host's supervisor."""
    scale = request.time_scale
    # The limits of the emulated machine: those of its type, and the requested caps.
    gates = [
        replace(gate, allowance=scaled(gate.allowance, time_scale=scale))
        for gate in request.machine
    ]
    if request.vm_iops is not None:
        gates.append(rates.MachineGate("ios", Allowance(request.vm_iops)))
    if request.vm_bytes_per_s is not None:
        gates.append(rates.MachineGate("bytes", Allowance(request.vm_bytes_per_s)))
    orders = rates.Orders(
        generation=1,
        version=groups.version,
        throttle=str(groups.throttle_of(place.lease_id)),
        disks=tuple(throttled for disk in disks for throttled in ordered(disk, scale)),
        machine=tuple(gates),
        seed=request.seed,
        noise=request.noise,
        stall_every_s=request.stall_every_s,
        stall_for_s=request.stall_for_s,
    )
    save_orders(place, orders)


def read_orders(place: LeaseFolder) -> rates.Orders:
    """The supervisor's latest orders."""
    return rates.parse_orders(place.orders.read_text("utf-8"))


def save_orders(place: LeaseFolder, orders: rates.Orders) -> None:
    """Write the supervisor's orders; it checks for new ones ten times a second."""
    new = place.orders.with_suffix(".new")
    write_private(new, json.dumps(asdict(orders)).encode())
    new.replace(place.orders)


def make_nodes(init: int, disk: LabDisk) -> None:
    """Make the disk's nodes inside the host whose process 1 is `init`; idempotent. Beside its
    cloud's names the disk has its kernel name: the host sees this machine's /sys, by which tools
    map a device number to /dev/NAME."""
    root = Path(f"/proc/{init}/root")
    for node in (disk.names[-1], f"/dev/{disk.loop.kernel}"):
        with contextlib.suppress(FileExistsError):
            os.mknod(_inside(root, node), stat.S_IFBLK | 0o660, disk.loop.device)
    for link in disk.names[:-1]:
        at = _inside(root, link)
        at.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            at.symlink_to(os.path.relpath(disk.names[-1], Path(link).parent))
    for listing in ("/sys/block", "/sys/class/block"):
        with contextlib.suppress(FileExistsError):
            entry = _inside(root, f"{listing}/{disk.loop.kernel}")
            entry.symlink_to(f"/sys/devices/virtual/block/{disk.loop.kernel}")


def remove_nodes(init: int, loop: LoopDevice) -> None:
    """Remove all of a disk's nodes and links from the host; idempotent."""
    root = Path(f"/proc/{init}/root")
    for listing in ("/sys/block", "/sys/class/block"):
        _inside(root, f"{listing}/{loop.kernel}").unlink(missing_ok=True)
    gone = set()
    for node in (root / "dev").iterdir():
        status = node.lstat()
        if stat.S_ISBLK(status.st_mode) and status.st_rdev == loop.device:
            node.unlink()
            gone.add(node.name)
    for link in (root / "dev" / "disk").glob("**/*"):
        if link.is_symlink() and link.readlink().name in gone:
            link.unlink()


def attach_disk(
    place: LeaseFolder, group: Path, request: LabRequest, index: int, volume: str, disk: DiskSpec,
    *, load_per_s: float = 0.0,
) -> LabDisk:  # fmt: skip
    """Make image and loop device of one disk; existing ones are kept. Its parts are loaded at
    `load_per_s` bytes a second when they are first read; 0: all of it is there."""
    check_volume(volume)
    limits = real_limits(request, disk)
    limits = replace(limits, accounting=cut_at(limits.accounting, LAB_CUT_BYTES))
    image = place.images / f"{volume}.img"
    is_slow = bool(request.latency_ms or load_per_s)
    if not (is_slow and mounted(image)):
        with image.open("ab") as file:
            file.truncate(disk.size_gib * GIB)
    if is_slow:
        told = (volume, request.seed, request.latency_ms, request.latency_jitter, load_per_s)
        _serve(place, group, image, (_LATENCY, str(image), *map(str, told)), "latency")
    loop = devices.attach(image)
    cut_bytes = min(limits.accounting.max_io_bytes or LAB_CUT_BYTES, LAB_CUT_BYTES)
    devices.cut_requests(loop, cut_bytes)
    names = disk_names(request.style, index, volume)
    if request.cache == "none":
        return LabDisk(volume, names, loop, limits)
    front = cache_before(place, group, request, image, Path("/dev", loop.kernel))
    top = devices.attach(front)
    devices.cut_requests(top, cut_bytes)
    return LabDisk(volume, names, top, limits, behind=loop)


def size_bytes(loop: LoopDevice) -> int:
    """The device's size in bytes, from the kernel."""
    sectors = Path("/sys/block", loop.kernel, "size").read_text("ascii")
    return int(sectors) * 512


def ordered(disk: LabDisk, time_scale: float) -> tuple[rates.ThrottledDisk, ...]:
    """The supervisor's orders for one disk, and for the host cache before it."""
    limits, rule = disk.limits, disk.limits.accounting
    real = disk.behind or disk.loop

    def at_scale(allowance: Allowance | None) -> Allowance | None:
        return None if allowance is None else scaled(allowance, time_scale=time_scale)

    pools = (
        replace(pool, iops=at_scale(pool.iops), bytes_per_s=at_scale(pool.bytes_per_s))
        for pool in limits.pools
    )
    sizes = (rule.max_io_bytes, rule.min_charge_bytes, rule.parts_from_bytes)
    own = rates.ThrottledDisk(real.kernel, real.number, tuple(pools), *sizes)
    if disk.behind is None:
        return (own,)
    return own, rates.ThrottledDisk(disk.loop.kernel, disk.loop.number, stage="cache")


def _inside(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


_DEVICE = Path("/dev/fuse")
_LATENCY, _CACHE = "diskbench.providers.lab.latency", "diskbench.providers.lab.hostcache"
FRONT = ".cached"
"""The suffix of the file in front of a cached disk's image."""


def check_fuse(field: str = "latency") -> None:
    """Raise HostUnavailable where this machine cannot add what the option `field` asks for."""
    if not _DEVICE.exists():
        raise HostUnavailable(
            f"--{field} needs FUSE, and there is no {_DEVICE}",
            advice=f"modprobe fuse; a container must be given the device, or leave --{field} out",
            field=field,
        )


def cache_before(
    place: LeaseFolder, group: Path, request: LabRequest, image: Path, disk: Path
) -> Path:
    """Put the request's host cache before the disk `disk` on `image`, by a process in `group`;
    returns the file that the guest's device is made of. Idempotent. Raises HostUnavailable with the
    process's output."""
    front = image.with_suffix(FRONT)
    if not mounted(front):
        with front.open("ab") as file:
            file.truncate(image.stat().st_size)
    argv = (_CACHE, str(front), str(image), str(disk), request.cache)
    _serve(place, group, front, argv, "cache")
    return front


def _serve(
    place: LeaseFolder, group: Path, file: Path, argv: tuple[str, ...], purpose: str
) -> None:
    """Start a process that mounts and serves `file`, unless it is served. Raises
    HostUnavailable."""
    log = place.path / f"{purpose}.log"
    if not mounted(file):
        process = processes.detached_module(group, log, *argv)
        deadline = time.monotonic() + processes.READY_WITHIN_S
        try:
            while not mounted(file) and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)  # a mount shows in /proc only
        finally:
            processes.reap(process)
    try:
        is_answered = bool(mounted(file)) and file.stat().st_size >= 0
    except OSError:  # "transport endpoint is not connected"
        is_answered = False
    if not is_answered:
        words = processes.last_words(log)
        raise refused("FUSE file without an answer", purpose=purpose, file=file, words=words)


def is_served(group: Path, image: Path) -> bool:
    """Whether the process behind a slow or a cached disk exists. No request is sent: it might not
    be answered."""
    module = (_CACHE if image.suffix == FRONT else _LATENCY).encode()
    return any(
        {module, bytes(image)} <= words
        for words in map(processes.words_of, processes.members(group))
    )
