"""`python -S -m diskbench.providers.lab.hostcache FRONT IMAGE DEVICE MODE`: mount a FUSE file over
FRONT, and serve it from the cache or from DEVICE, the throttled disk on IMAGE, until it is
unmounted."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from diskbench.providers.lab.hostcache.server import CacheServer
from diskbench.providers.lab.latency.mounts import mount

_PR_SET_IO_FLUSHER = 57


def main(front: Path, image: Path, device: Path, mode: str) -> None:
    """Serve until the file is unmounted. Raises OSError when it cannot be mounted."""
    status = front.stat()
    cached = os.open(image, os.O_RDWR | os.O_CLOEXEC)
    disk = os.open(device, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
    fuse = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    server = CacheServer(fuse, cached, disk, status, keeps_writes=mode == "readwrite")
    # The kernel must not make us wait for pages that only we can write (prctl(2)).
    ctypes.CDLL(None).prctl(_PR_SET_IO_FLUSHER, 1, 0, 0, 0)
    mount(fuse, front)
    server.serve()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
