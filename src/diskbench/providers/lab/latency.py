"""`python -S -m diskbench.providers.lab.latency IMAGE VOLUME SEED MEDIAN_MS SIGMA LOAD_PER_S`:
mount a FUSE file over the image and serve it until it is unmounted; each request waits for a
latency drawn from a seed, and the first read of a part until it was loaded, at so many bytes a
second (0: all of it is there), as of a disk that was made from a snapshot.

It imports what runs with `python -S`, and speaks the kernel's protocol itself: libraries call
Python in a thread for each request, which took 3.4 times as much CPU and did a third of the IOPS
(docs/lab.md). One thread suffices: between two requests it waits for the clock only. A read is
prefetched into the page cache when it arrives and read when it is due, a write is done when it
arrives and acknowledged when it is due; so the drawn latency hides the image's own."""

import contextlib
import ctypes
import errno
import gc
import heapq
import math
import os
import random
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from diskbench.providers.lab import fuse_file
from diskbench.providers.lab.fuse_file import FuseConnection

_LIBC = ctypes.CDLL(None, use_errno=True)


_Due = tuple[float, int, int, int, int | None, bytes]
"""An answer: when it is due (monotonic seconds), a number that orders answers of the same time,
the number of the request, size, offset and body. With an offset it is the image's data there."""

LOADED_BYTES = 512 * 1024
"""What is loaded at once: the blocks of which EBS makes snapshots (EBS direct APIs)."""


@dataclass
class Loading:
    """The parts of a disk that were loaded, or will be, by the time at which they are there: one
    after another, as they are first read."""

    bytes_per_s: float
    _there: dict[int, float] = field(default_factory=dict)
    _free: float = 0.0

    def read(self, offset: int, size: int, arrived: float) -> float:
        """When all of an extent is there; `arrived` is the time of its request."""
        ready = arrived
        for part in range(offset // LOADED_BYTES, (offset + size - 1) // LOADED_BYTES + 1):
            if part not in self._there:
                self._free = max(self._free, arrived) + LOADED_BYTES / self.bytes_per_s
                self._there[part] = self._free
            ready = max(ready, self._there[part])
        return ready


@dataclass
class FuseServer:
    """The file on `image` (a file descriptor) behind the FUSE connection, with one of `latencies`
    (seconds) for each request that reads, writes, flushes or discards."""

    fuse: FuseConnection
    image: int
    latencies: Iterator[float]
    loading: Loading | None = None
    _status: os.stat_result = field(init=False)
    _waiting: list[_Due] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        self._status = os.fstat(self.image)

    def serve(self) -> None:
        with fuse_file.until_unmounted():
            while True:
                # Alternately, so that neither new requests nor due answers wait for a burst of the
                # other.
                now = time.monotonic()
                if self._waiting and self._waiting[0][0] <= now:
                    self._answer(*heapq.heappop(self._waiting)[2:])
                else:
                    wait = self._waiting[0][0] - now if self._waiting else None
                    select.select([self.fuse.device], [], [], wait)
                if taken := self.fuse.take():
                    self._begin(*taken, time.monotonic())

    def _begin(self, opcode: int, unique: int, arrived: float) -> None:
        request = self.fuse.request
        try:
            if opcode == fuse_file.READ:
                offset, size = fuse_file.extent(request)
                os.posix_fadvise(self.image, offset, size, os.POSIX_FADV_WILLNEED)
                there = self.loading.read(offset, size, arrived) if self.loading else arrived
                self._later(there, unique, size, offset, b"")
            elif opcode == fuse_file.WRITE:
                offset, size = fuse_file.extent(request)
                data = request[fuse_file.WRITTEN : fuse_file.WRITTEN + size]
                done = fuse_file.written(os.pwrite(self.image, data, offset))
                self._later(arrived, unique, len(done), None, done)
            elif opcode == fuse_file.FALLOCATE:
                offset, length, mode = fuse_file.punched(request)
                extent = (ctypes.c_longlong(offset), ctypes.c_longlong(length))
                if _LIBC.fallocate(self.image, mode, *extent):
                    raise OSError(ctypes.get_errno(), "fallocate")
                self._later(arrived, unique, 0, None, b"")
            elif opcode == fuse_file.FSYNC:
                # A cloud's disk keeps what it has acknowledged; there is nothing to flush.
                self._later(arrived, unique, 0, None, b"")
            else:
                self.fuse.send(*fuse_file.without_io(opcode, unique, request, self._status))
        except OSError as error:
            self.fuse.send(fuse_file.reply(unique, error=error.errno or errno.EIO))

    def _later(
        self, arrived: float, unique: int, size: int, offset: int | None, body: bytes
    ) -> None:
        self._count += 1
        at = arrived + next(self.latencies)
        heapq.heappush(self._waiting, (at, self._count, unique, size, offset, body))

    def _answer(self, unique: int, size: int, offset: int | None, body: bytes) -> None:
        if offset is None:
            self.fuse.send(fuse_file.reply(unique, size), body)
            return
        data = self.fuse.data[:size]
        try:
            size = os.preadv(self.image, [data], offset)
        except OSError as error:
            self.fuse.send(fuse_file.reply(unique, error=error.errno or errno.EIO))
        else:
            self.fuse.send(fuse_file.reply(unique, size), data[:size])


def draws(seed: int, volume: str, median_s: float, sigma: float) -> Iterator[float]:
    """The latencies in seconds of a disk's requests in the order in which they come, without end:
    lognormal with the given median, `sigma` the standard deviation of the logarithm."""
    # Not the stream of noise and stalls: those must not change when this does.
    stream = random.Random(f"{seed}/latency/{volume}")  # noqa: S311 - not a secret
    while True:
        yield median_s * math.exp(sigma * stream.gauss(0.0, 1.0))


_PRIORITY = -20


def main(
    image: Path, volume: str, seed: int, median_s: float, sigma: float, load_per_s: float
) -> None:
    """Serve until the file is unmounted. Raises OSError when it cannot be mounted."""
    file = os.open(image, os.O_RDWR | os.O_CLOEXEC)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    loading = Loading(load_per_s) if load_per_s else None
    latencies = draws(seed, volume, median_s, sigma)
    server = FuseServer(FuseConnection(device), file, latencies, loading)
    # Wake-ups are to be on time under load, where that is permitted.
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    with contextlib.suppress(OSError):
        Path("/proc/self/timerslack_ns").write_text("1", "ascii")
    gc.disable()  # no reference cycles are made here
    fuse_file.mount(device, image)
    server.serve()


if __name__ == "__main__":
    median_ms, sigma, load_per_s = map(float, sys.argv[4:7])
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), median_ms / 1000, sigma, load_per_s)
