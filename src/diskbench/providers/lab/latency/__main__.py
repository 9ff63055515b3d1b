"""`python -S -m diskbench.providers.lab.latency IMAGE VOLUME SEED MEDIAN_MS SIGMA`: mount a FUSE
file over the image and serve it until it is unmounted."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from pathlib import Path

from diskbench.providers.lab.latency.mounts import mount
from diskbench.providers.lab.latency.server import FuseServer, draws

_PR_SET_IO_FLUSHER = 57
_PRIORITY = -20


def main(image: Path, volume: str, seed: int, median_s: float, sigma: float) -> None:
    """Serve until the file is unmounted. Raises OSError when it cannot be mounted."""
    file = os.open(image, os.O_RDWR | os.O_CLOEXEC)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    server = FuseServer(device, file, draws(seed, volume, median_s, sigma))
    _be_on_time()
    mount(device, image)
    server.serve()


def _be_on_time() -> None:
    """Request real-time scheduling, so that wake-ups are on time under load; continue without it
    where it is not permitted."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    with contextlib.suppress(OSError):
        Path("/proc/self/timerslack_ns").write_text("1", "ascii")
    # The kernel must not make us wait for pages that only we can write (prctl(2)).
    ctypes.CDLL(None).prctl(_PR_SET_IO_FLUSHER, 1, 0, 0, 0)
    gc.disable()  # no reference cycles are made here


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        sys.argv[2],
        int(sys.argv[3]),
        float(sys.argv[4]) / 1000,
        float(sys.argv[5]),
    )
