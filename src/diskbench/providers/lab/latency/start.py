"""Start of the processes that serve a slow disk and its host cache, and whether they serve."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import diskbench
from diskbench.errors import HostUnavailable
from diskbench.providers.lab.groups import members
from diskbench.providers.lab.latency.mounts import mounted
from diskbench.providers.lab.processes import READY_WITHIN_S, detached, last_words, reap

if TYPE_CHECKING:
    from diskbench.providers.lab.places import LeaseFolder
    from diskbench.providers.lab.request import LabRequest

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


def slow_down(
    place: LeaseFolder, group: Path, request: LabRequest, volume: str, image: Path
) -> None:
    """Add the request's latency to the image, by a process in `group`; returns when it is in force.
    Idempotent.

    Raises HostUnavailable with the process's output.
    """
    arguments = (volume, request.seed, request.latency_ms, request.latency_jitter)
    _serve(place, group, image, (_LATENCY, str(image), *map(str, arguments)), "latency")


def cache_before(
    place: LeaseFolder, group: Path, request: LabRequest, image: Path, disk: Path
) -> Path:
    """Put the request's host cache before the disk `disk` on `image`, by a process in `group`;
    returns the file that the guest's device is made of. Idempotent.

    Raises HostUnavailable with the process's output.
    """
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
        package = Path(next(iter(diskbench.__path__))).parent
        process = detached(
            group,
            log,
            [sys.executable, "-S", "-P", "-m", *argv],
            {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        deadline = time.monotonic() + READY_WITHIN_S
        try:
            while not mounted(file) and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)  # a mount shows in /proc only
        finally:
            reap(process)
    if not _answers(file):
        raise HostUnavailable(
            f"the lab cannot add {purpose} to {file.name}: {last_words(log)}",
            advice="it needs root, loop devices and FUSE; a container must be privileged",
        )


def is_served(group: Path, image: Path) -> bool:
    """Whether the process behind a slow or a cached disk exists. No request is sent: it might not
    be answered."""
    module = (_CACHE if image.suffix == FRONT else _LATENCY).encode()
    return any({module, bytes(image)} <= words for words in map(_words, members(group)))


def _answers(image: Path) -> bool:
    try:
        return bool(mounted(image)) and image.stat().st_size >= 0
    except OSError:  # "transport endpoint is not connected"
        return False


def _words(pid: int) -> set[bytes]:
    try:
        return set(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"))
    except OSError:
        return set()
