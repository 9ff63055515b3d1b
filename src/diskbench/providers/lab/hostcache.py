"""`python -S -m diskbench.providers.lab.hostcache FRONT IMAGE DEVICE MODE`: mount a FUSE file over
FRONT, and serve it from a machine's host cache or from DEVICE, the throttled disk on IMAGE, until
it is unmounted. It imports what runs with `python -S`.

A read of what is cached is answered from the image, through this machine's memory. Other reads, and
writes unless the cache keeps them, go to the throttled disk, in threads, and stay in the cache, for
it has room for the whole disk (docs/lab.md). What the cache keeps of writes is written out to the
disk later, as fast as the disk takes it. Cache and disk are the same bytes, the image's: nothing is
lost whatever ends this process, and the cache decides only which way a request takes, and when it
is answered."""

from __future__ import annotations

import errno
import mmap
import os
import queue
import select
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from diskbench.providers.lab import fuse_file
from diskbench.providers.lab.fuse_file import FuseConnection

WORKERS = 64
"""Requests that the disk is given at once; our choice, the queue depth that profiles ask for."""


class _Passed(NamedTuple):
    """A request that goes to the disk: `data` None is a read."""

    unique: int
    offset: int
    size: int
    data: bytes | None


@dataclass
class CacheServer:
    """The file behind the FUSE connection, on the cache `cached` and the disk `disk` (file
    descriptors), which shows the attributes `status`. `keeps_writes`: a write is answered when it
    is in the cache."""

    fuse: FuseConnection
    cached: int
    disk: int
    status: os.stat_result
    keeps_writes: bool
    _blocks: CacheBlocks = field(init=False)
    _todo: queue.SimpleQueue[_Passed] = field(default_factory=queue.SimpleQueue)
    _change: threading.Condition = field(default_factory=threading.Condition)
    _busy: tuple[int, int] = (0, 0)
    """The bytes [start, end) that are being written out."""

    def __post_init__(self) -> None:
        self._blocks = CacheBlocks(self.status.st_size)

    def serve(self) -> None:
        for _ in range(WORKERS):
            threading.Thread(target=self._work, daemon=True).start()
        if self.keeps_writes:
            threading.Thread(target=self._write_out, daemon=True).start()
        with fuse_file.until_unmounted():
            while True:
                select.select([self.fuse.device], [], [])
                if taken := self.fuse.take():
                    self._begin(*taken)

    def _begin(self, opcode: int, unique: int) -> None:
        request = self.fuse.request
        if opcode == fuse_file.READ:
            self._read(unique, *fuse_file.extent(request))
        elif opcode == fuse_file.WRITE:
            offset, size = fuse_file.extent(request)
            data = bytes(request[fuse_file.WRITTEN : fuse_file.WRITTEN + size])
            self._write(_Passed(unique, offset, size, data))
        elif opcode == fuse_file.FSYNC:
            # As a host cache answers: what it keeps of writes it writes out in its own time.
            self.fuse.send(fuse_file.reply(unique))
        else:
            self.fuse.send(*fuse_file.without_io(opcode, unique, request, self.status))

    def _read(self, unique: int, offset: int, size: int) -> None:
        with self._change:
            is_held = self._blocks.holds(offset, size)
        if not is_held:
            self._todo.put(_Passed(unique, offset, size, None))
            return
        part = self.fuse.data[:size]
        done = os.preadv(self.cached, [part], offset)
        self.fuse.send(fuse_file.reply(unique, done), part[:done])

    def _write(self, request: _Passed) -> None:
        with self._change:
            is_kept = self.keeps_writes and not self._is_busy(request)
            if is_kept:
                self._keep(request)
        if is_kept:
            self._acknowledge(request.unique, request.size)
        else:
            self._todo.put(request)

    def _is_busy(self, request: _Passed) -> bool:
        return request.offset < self._busy[1] and self._busy[0] < request.offset + request.size

    def _keep(self, request: _Passed) -> None:
        """Write into the cache, under the lock: else older bytes might be written out after it."""
        assert request.data is not None
        os.pwrite(self.cached, request.data, request.offset)
        self._blocks.write(request.offset, request.size)
        self._change.notify_all()

    def _acknowledge(self, unique: int, size: int) -> None:
        done = fuse_file.written(size)
        self.fuse.send(fuse_file.reply(unique, len(done)), done)

    def _work(self) -> None:
        room = memoryview(mmap.mmap(-1, fuse_file.MAX_WRITE))
        while True:
            request = self._todo.get()
            try:
                self._pass(request, room)
            except OSError as error:
                self.fuse.send(fuse_file.reply(request.unique, error=error.errno or errno.EIO))

    def _pass(self, request: _Passed, room: memoryview) -> None:
        """Let the disk answer, and keep what it answered in the cache."""
        part = room[: request.size]
        if request.data is None:
            done = os.preadv(self.disk, [part], request.offset)
            with self._change:
                self._blocks.add(request.offset, done)
            self.fuse.send(fuse_file.reply(request.unique, done), part[:done])
            return
        if self.keeps_writes:  # its bytes were being written out
            with self._change:
                self._change.wait_for(lambda: not self._is_busy(request))
                self._keep(request)
            self._acknowledge(request.unique, request.size)
            return
        part[:] = request.data
        size = os.pwritev(self.disk, [part], request.offset)
        with self._change:
            self._blocks.add(request.offset, size)
        self._acknowledge(request.unique, size)

    def _write_out(self) -> None:
        """Write what the cache keeps to the disk, the oldest first, one request at a time."""
        room = memoryview(mmap.mmap(-1, fuse_file.MAX_WRITE + BLOCK))
        while True:
            with self._change:
                while (extent := self._blocks.next_dirty()) is None:
                    self._change.wait()
                start, length = extent
                self._busy = (start, start + length)
            part = room[:length]
            done = os.preadv(self.cached, [part], start)
            os.pwritev(self.disk, [part[:done]], start)
            with self._change:
                self._busy = (0, 0)
                self._change.notify_all()


BLOCK = 4096
"""Bytes that are cached together; our choice, a page."""


@dataclass
class CacheBlocks:
    """The blocks of a disk of `size` bytes. Not for several threads at once."""

    size: int
    _held: bytearray = field(init=False)
    _dirty: bytearray = field(init=False)
    _queue: deque[tuple[int, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        blocks = -(-self.size // BLOCK)
        self._held, self._dirty = bytearray(blocks), bytearray(blocks)

    def holds(self, offset: int, length: int) -> bool:
        first, last = _blocks(offset, length)
        return self._held.count(1, first, last) == last - first

    def add(self, offset: int, length: int) -> None:
        first, last = _blocks(offset, length)
        self._held[first:last] = b"\1" * (last - first)

    def write(self, offset: int, length: int) -> None:
        """Note that the bytes were written into the cache alone."""
        first, last = _blocks(offset, length)
        self.add(offset, length)
        if self._dirty.count(1, first, last) < last - first:
            self._dirty[first:last] = b"\1" * (last - first)
            self._queue.append((offset, length))

    def next_dirty(self) -> tuple[int, int] | None:
        """The oldest bytes that were not written out, taken from the queue: offset and length, of
        whole blocks; None without any."""
        if not self._queue:
            return None
        first, last = _blocks(*self._queue.popleft())
        self._dirty[first:last] = bytes(last - first)
        start = first * BLOCK
        return start, min(last * BLOCK, self.size) - start


def _blocks(offset: int, length: int) -> tuple[int, int]:
    """The blocks [first, last) that hold any of the bytes."""
    return offset // BLOCK, -(-(offset + length) // BLOCK)


def main(front: Path, image: Path, device: Path, mode: str) -> None:
    """Serve until the file is unmounted. Raises OSError when it cannot be mounted."""
    status = front.stat()
    cached = os.open(image, os.O_RDWR | os.O_CLOEXEC)
    disk = os.open(device, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
    connection = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fuse, keeps_writes = FuseConnection(connection), mode == "readwrite"
    server = CacheServer(fuse, cached, disk, status, keeps_writes)
    fuse_file.mount(connection, front)
    server.serve()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
