"""Block devices: loop devices, and the kernel's own limits and counters. Standard library only.

Loop devices are attached by the kernel's ioctls (include/uapi/linux/loop.h): a helper program could
outlive us and attach a device after the release. With cgroup v1 the limits are set in the root
group, because kernel threads write back buffered writes, and would escape those of another. cgroup
v2 charges writeback to the writer and has no limits in its root: they are set in the host's own."""

import contextlib
import errno
import fcntl
import os
import struct
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from diskbench.errors import HostUnavailable, ReleaseFailed

_CONTROL = "/dev/loop-control"
_GET_FREE = 0x4C82
_CONFIGURE = 0x4C0A
_CLEAR = 0x4C01
_DIRECT_IO = 16
_CONFIG = struct.Struct("=II 5Q 4I 64s 64s 32s 2Q 8Q")
"""struct loop_config: fd, block size, loop_info64, eight reserved words."""
_DELETED = " (deleted)"
_TRIES = 500
DETACHED_WITHIN_S = 10.0
"""Seconds that an ended process may still hold a device; our choice."""


@dataclass(frozen=True)
class LoopDevice:
    """A loop device: `kernel` is `loop3`, `number` MAJOR:MINOR, `image` the file behind it."""

    kernel: str
    number: str
    image: Path

    @property
    def device(self) -> int:
        """The number in the form of `mknod`."""
        major, minor = self.number.split(":")
        return os.makedev(int(major), int(minor))


def attach(image: Path) -> LoopDevice:
    """Attach a loop device with direct I/O to a file, or return the existing one. Raises
    HostUnavailable when there are no loop devices, or the file's filesystem takes no direct I/O."""
    loop = next((loop for loop in find(image.parent) if loop.image == image), None)
    if loop is None:
        with image.open("r+b") as file:
            loop = _new(image, file.fileno())
    if Path("/sys/block", loop.kernel, "loop/dio").read_text("ascii").strip() != "1":
        detach(loop)
        raise HostUnavailable(
            f"{image.parent} does not support direct I/O (tmpfs does not)",
            advice="name a directory on a disk with DISKBENCH_LAB_DIR",
        )
    return loop


def cut_requests(loop: LoopDevice, size_bytes: int) -> None:
    """Let the kernel split requests above `size_bytes` into parts of that size, as the disk's
    cloud counts them. Raises HostUnavailable when the kernel refuses the limit."""
    queue = Path("/sys/block", loop.kernel, "queue")
    try:
        most = int((queue / "max_hw_sectors_kb").read_text("ascii"))
        part_kib = min(size_bytes // 1024, most)
        (queue / "max_sectors_kb").write_text(f"{part_kib}", "ascii")
    except OSError as error:
        raise HostUnavailable(
            f"cannot set /sys/block/{loop.kernel}/queue/max_sectors_kb to {size_bytes // 1024} KiB:"
            f" {error.strerror}",
            advice="the lab needs /sys mounted for writing (a privileged container)",
        ) from error


def find(directory: Path) -> tuple[LoopDevice, ...]:
    """Every loop device on a file below `directory`, the deleted ones included."""
    devices = []
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            image = file.read_text("utf-8").rstrip("\n").removesuffix(_DELETED)
            number = (file.parent.parent / "dev").read_text("ascii").strip()
        except OSError:  # detached meanwhile
            continue
        if Path(image).is_relative_to(directory):
            devices.append(LoopDevice(file.parent.parent.name, number, Path(image)))
    return tuple(devices)


def detach(loop: LoopDevice) -> None:
    """Detach the device and wait for it. Raises ReleaseFailed when a process holds it."""
    deadline = time.monotonic() + DETACHED_WITHIN_S
    accepted = False
    if _is_attached(loop):
        # Else the limit of `cut_requests` would stay with the device, which another process may
        # attach next.
        queue = Path("/sys/block", loop.kernel, "queue")
        with contextlib.suppress(OSError):
            most = (queue / "max_hw_sectors_kb").read_text("ascii")
            (queue / "max_sectors_kb").write_text(most, "ascii")
    while _is_attached(loop):
        # Requested once: the kernel detaches it when its last holder is gone, and then it may
        # already belong to somebody else.
        accepted = accepted or _clear(loop)
        if time.monotonic() > deadline:
            raise ReleaseFailed(
                f"/dev/{loop.kernel} on {loop.image} is still in use",
                advice=f"find what holds it: lsblk /dev/{loop.kernel}; fuser -v /dev/{loop.kernel}",
            )
        time.sleep(0.005)  # the kernel sends no event


def _is_attached(loop: LoopDevice) -> bool:
    return any(device.kernel == loop.kernel for device in find(loop.image))


def _clear(loop: LoopDevice) -> bool:
    """Ask the kernel to detach; returns whether it accepted the request."""
    handle = os.open(f"/dev/{loop.kernel}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if not _is_attached(loop):
            return True
        fcntl.ioctl(handle, _CLEAR)
    except OSError as error:
        if error.errno not in {errno.ENXIO, errno.EBUSY}:
            raise
        return error.errno == errno.ENXIO
    finally:
        os.close(handle)
    return True


def _new(image: Path, handle: int) -> LoopDevice:
    info = (0, 0, 0, 0, 0, 0, 0, 0, _DIRECT_IO, os.fsencode(str(image))[:63], b"", b"", 0, 0)
    config = _CONFIG.pack(handle, 0, *info, *([0] * 8))
    for _ in range(_TRIES):
        number = _free()
        try:
            device = os.open(f"/dev/loop{number}", os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(device, _CONFIGURE, config)
            finally:
                os.close(device)
        except OSError as error:
            if error.errno == errno.EBUSY:  # another process was faster
                continue
            raise HostUnavailable(
                f"cannot attach /dev/loop{number}: {error.strerror}",
                advice="the lab needs loop devices (Linux 5.8 or newer, a privileged container)",
            ) from error
        sysfs = Path("/sys/block", f"loop{number}", "dev")
        return LoopDevice(f"loop{number}", sysfs.read_text("ascii").strip(), image)
    raise HostUnavailable(
        f"no loop device was free in {_TRIES} tries", advice="run losetup to see what uses them"
    )


def _free() -> int:
    try:
        with open(_CONTROL, "rb") as control:  # noqa: PTH123 - a device, not a path to reason about
            return fcntl.ioctl(control, _GET_FREE)
    except OSError as error:
        raise HostUnavailable(
            f"cannot use {_CONTROL}: {error.strerror}",
            advice="the lab needs loop devices: modprobe loop, and root",
        ) from error


SECTOR_BYTES = 512
"""/sys/block/*/stat counts in sectors of 512 bytes (Documentation/block/stat.rst)."""


@dataclass(frozen=True)
class ThrottleLimits:
    """A device's limits per second; None is no limit."""

    read_iops: int | None = None
    write_iops: int | None = None
    read_bps: int | None = None
    write_bps: int | None = None


@dataclass(frozen=True)
class Counters:
    """A device's counters since its creation."""

    read_ops: int
    read_bytes: int
    write_ops: int
    write_bytes: int


NO_LIMITS = ThrottleLimits()


def write_limits(version: int, directory: str, number: str, limits: ThrottleLimits) -> None:
    """Limit the device MAJOR:MINOR in the group `directory`. Raises OSError when it is gone."""
    if version == 2:
        Path(directory, "io.max").write_text(io_max(number, limits), "ascii")
        return
    for what, value in asdict(limits).items():
        file = Path(directory, f"blkio.throttle.{what}_device")
        file.write_text(f"{number} {value or 0}", "ascii")


def io_max(number: str, limits: ThrottleLimits) -> str:
    """The line for cgroup v2's io.max."""
    return (
        f"{number} rbps={limits.read_bps or 'max'} wbps={limits.write_bps or 'max'} "
        f"riops={limits.read_iops or 'max'} wiops={limits.write_iops or 'max'}"
    )


def read_counters(kernel_name: str) -> Counters:
    """The counters of a device such as `loop3`. Raises OSError when it is gone."""
    fields = Path("/sys/block", kernel_name, "stat").read_text("ascii").split()
    reads, read_sectors, writes, written_sectors = (int(fields[i]) for i in (0, 2, 4, 6))
    return Counters(reads, read_sectors * SECTOR_BYTES, writes, written_sectors * SECTOR_BYTES)
