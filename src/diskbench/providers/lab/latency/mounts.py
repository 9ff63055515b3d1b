"""FUSE files over disk images: mount one, find and unmount existing ones, whichever process
served them. Source of the numbers: mount(2), umount(2)."""

from __future__ import annotations

import ctypes
import os
import re
import stat
from pathlib import Path

from diskbench.errors import ReleaseFailed

TYPE = "fuse.diskbench-lab"
_NOSUID, _NODEV, _NOEXEC = 2, 4, 8
_FORCE, _DETACH = 1, 2
_LIBC = ctypes.CDLL(None, use_errno=True)
_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def mount(device: int, image: Path) -> None:
    """Mount the FUSE connection of `device` over the file. Raises OSError."""
    options = f"fd={device},rootmode={stat.S_IFREG:o},user_id=0,group_id=0"
    flags = _NOSUID | _NODEV | _NOEXEC
    name = TYPE.encode()
    if _LIBC.mount(name, os.fsencode(image), name, flags, options.encode()):
        raise _error(image)


def mounted(path: Path) -> tuple[Path, ...]:
    """Every file at or below `path` with one of our mounts over it."""
    images = []
    for line in _MOUNTS.read_text("utf-8", "surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[0] == TYPE:
            image = Path(_ESCAPED.sub(lambda m: chr(int(m[1], 8)), before.split()[4]))
            if image.is_relative_to(path):
                images.append(image)
    return tuple(images)


def unmount(path: Path) -> None:
    """Unmount every one at or below `path`; requests that wait for their server fail. Succeeds if
    there is none. Call it when no loop device is left on the file: the device would lose its name.

    Raises ReleaseFailed.
    """
    for image in mounted(path):
        if _LIBC.umount2(os.fsencode(image), _FORCE | _DETACH):
            error = _error(image)
            raise ReleaseFailed(
                f"{image} cannot be unmounted: {error.strerror}",
                advice=f"then unmount it: umount -f -l {image}",
            ) from error


def _error(image: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(image))
