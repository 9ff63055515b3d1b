"""Start of the process that serves a slow disk, and check that it serves."""

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
_MODULE = "diskbench.providers.lab.latency"


def check_fuse() -> None:
    """Raise HostUnavailable where this machine cannot add latency."""
    if not _DEVICE.exists():
        raise HostUnavailable(
            f"--latency needs FUSE, and there is no {_DEVICE}",
            advice="modprobe fuse; a container must be given the device, or leave --latency out",
            field="latency",
        )


def slow_down(
    place: LeaseFolder, group: Path, request: LabRequest, volume: str, image: Path
) -> None:
    """Add the request's latency to the image, by a process in `group`; returns when it is in force.
    Idempotent.

    Raises HostUnavailable with the process's output.
    """
    log = place.path / "latency.log"
    if not mounted(image):
        package = Path(next(iter(diskbench.__path__))).parent
        what = (volume, request.seed, request.latency_ms, request.latency_jitter)
        process = detached(
            group,
            log,
            [sys.executable, "-S", "-P", "-m", _MODULE, str(image), *map(str, what)],
            {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        deadline = time.monotonic() + READY_WITHIN_S
        try:
            while not mounted(image) and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)  # a mount shows in /proc only
        finally:
            reap(process)
    if not _answers(image):
        raise HostUnavailable(
            f"the lab cannot add latency to {image.name}: {last_words(log)}",
            advice="it needs root, loop devices and FUSE; a container must be privileged",
        )


def is_served(group: Path, image: Path) -> bool:
    """Whether the process behind a slow disk exists. No request is sent: it might not be
    answered."""
    wanted = {_MODULE.encode(), bytes(image)}
    return any(wanted <= words for words in map(_words, members(group)))


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
