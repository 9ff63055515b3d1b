"""A disk whose limits are known: a loop device that the kernel throttles, and a memory limit.

On cgroup v1 the limit is written into the root cgroup's blkio.throttle, where it also holds for
buffered writes: their writeback is done by kernel threads and escapes a limit in a child cgroup. On
cgroup v2 writeback is charged to the writer, so there the limit stands beside the memory limit in
one child group. blk-throttle counts bios before they are merged: a buffered write to a raw device
is one 4 KiB bio a page, however large the request that reaches the disk.

Everything is a context manager and is undone in reverse order, whatever happens inside.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
MIB = 2**20
_CHUNK = 4 * MIB


class RigError(Exception):
    """This machine cannot hold the rig; the message says what is missing."""


@dataclass(frozen=True)
class Limits:
    """What the disk may do, read and write each. None is no limit."""

    bytes_per_s: int | None = None
    iops: int | None = None


@dataclass(frozen=True)
class LoopDisk:
    """A loop device and the file behind it. `number` is MAJOR:MINOR."""

    path: str
    number: str
    image: Path


@dataclass(frozen=True)
class Group:
    """A cgroup that processes may be put into: `procs` are the files to write their number to."""

    directory: Path
    procs: tuple[Path, ...]


@dataclass(frozen=True)
class Cgroups:
    """Which cgroup version limits block I/O and memory here, and where its trees are."""

    version: int
    blkio: Path
    memory: Path


def find_cgroups(root: Path = CGROUPS) -> Cgroups:
    """The trees that can limit I/O and memory. Raises RigError when there are none."""
    if (root / "blkio" / "blkio.throttle.read_bps_device").exists() and (
        root / "memory" / "cgroup.procs"
    ).exists():
        return Cgroups(1, root / "blkio", root / "memory")
    controllers = root / "cgroup.controllers"
    if controllers.exists() and {"io", "memory"} <= set(controllers.read_text().split()):
        return Cgroups(2, root, root)
    raise RigError(
        f"neither blkio.throttle of cgroup v1 nor io.max of cgroup v2 was found under {root}; "
        "run on a machine or in a privileged container that has them"
    )


def need(*programs: str) -> None:
    """Raise RigError unless this is root and `programs` are installed."""
    if os.geteuid() != 0:
        raise RigError("loop devices, mounts and cgroups need root")
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise RigError(f"not installed: {', '.join(missing)}")


@contextmanager
def loop_disk(image: Path, size_bytes: int) -> Iterator[LoopDisk]:
    """A loop device with direct I/O on a file of `size_bytes`, every block of it written.

    Unwritten extents would make the first pass over them slower than the later ones. The first
    MiB is zeros, so that nothing looks like a signature.
    """
    try:
        _write_image(image, size_bytes)
        path = _output("losetup", "--find", "--show", "--direct-io=on", str(image))
        try:
            dio = _output("losetup", "--noheadings", "--output", "DIO", path)
            if dio != "1":
                raise RigError(f"{image.parent} takes no direct I/O (tmpfs?); choose another one")
            number = Path(path).stat().st_rdev
            yield LoopDisk(path, f"{os.major(number)}:{os.minor(number)}", image)
        finally:
            _run("losetup", "--detach", path)
    finally:
        image.unlink(missing_ok=True)


@contextmanager
def throttled_disk(cgroups: Cgroups, disk: LoopDisk, limits: Limits) -> Iterator[None]:
    """`limits` on `disk` for the whole machine (cgroup v1; nothing to do for v2: see `group`)."""
    if cgroups.version != 1:
        yield
        return
    files = {
        cgroups.blkio / f"blkio.throttle.{direction}_{what}_device": value
        for direction in ("read", "write")
        for what, value in (("bps", limits.bytes_per_s), ("iops", limits.iops))
        if value is not None
    }
    try:
        for path, value in files.items():
            path.write_text(f"{disk.number} {value}", "utf-8")
        yield
    finally:
        for path in files:
            path.write_text(f"{disk.number} 0", "utf-8")


@contextmanager
def group(
    cgroups: Cgroups, name: str, memory_bytes: int, disks: dict[LoopDisk, Limits]
) -> Iterator[Group]:
    """A cgroup `name` that may hold `memory_bytes`, page cache included.

    On cgroup v2 it also carries the limits of `disks`. At the end what still runs in it is killed:
    nobody else can be in there.
    """
    directory = cgroups.memory / name
    if cgroups.version == 2:
        _enable(cgroups.memory / "cgroup.subtree_control", ("io", "memory"))
    directory.mkdir()
    try:
        if cgroups.version == 1:
            (directory / "memory.limit_in_bytes").write_text(str(memory_bytes), "utf-8")
        else:
            (directory / "memory.max").write_text(str(memory_bytes), "utf-8")
            for disk, limits in disks.items():
                (directory / "io.max").write_text(io_max(disk, limits), "utf-8")
        yield Group(directory, (directory / "cgroup.procs",))
    finally:
        _empty(directory)
        directory.rmdir()


def io_max(disk: LoopDisk, limits: Limits) -> str:
    """The line for cgroup v2's io.max."""
    bps = limits.bytes_per_s or "max"
    iops = limits.iops or "max"
    return f"{disk.number} rbps={bps} wbps={bps} riops={iops} wiops={iops}"


def clear(directory: Path) -> None:
    """Remove what is in a mounted filesystem, but for its lost+found."""
    for entry in directory.iterdir():
        if entry.name == "lost+found":
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def drop_caches() -> None:
    """Write out everything dirty, then forget the page cache."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3", "utf-8")


def _write_image(image: Path, size_bytes: int) -> None:
    block = os.urandom(_CHUNK)
    with image.open("wb") as file:
        file.write(bytes(min(MIB, size_bytes)))
        while (left := size_bytes - file.tell()) > 0:
            file.write(block[:left])
        os.fsync(file.fileno())


def _enable(subtree_control: Path, controllers: tuple[str, ...]) -> None:
    for controller in controllers:
        if controller not in subtree_control.read_text().split():
            subtree_control.write_text(f"+{controller}", "utf-8")


def _empty(directory: Path) -> None:
    """Kill what is left in the group and wait for the kernel to let it go."""
    deadline = time.monotonic() + 240
    while (pids := (directory / "cgroup.procs").read_text().split()) and (
        time.monotonic() < deadline
    ):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.05)


def _output(*argv: str) -> str:
    return _run(*argv).stdout.strip()


def _run(*argv: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise RigError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done
