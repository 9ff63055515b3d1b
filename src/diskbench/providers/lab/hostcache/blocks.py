"""The blocks of a disk that are in its host cache, and those that were not written out yet: pure.

The cache has room for the whole disk: what was read or written once stays (docs/lab.md).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

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
        """Whether all of the bytes are in the cache."""
        first, last = _blocks(offset, length)
        return self._held.count(1, first, last) == last - first

    def add(self, offset: int, length: int) -> None:
        """Note that the bytes are in the cache."""
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
