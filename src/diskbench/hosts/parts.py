"""An archive that arrives in parts: over a connection that breaks, each continues the one before.

Counted is what was compressed: the files of a step that ended give the same tar each time, of which
a host leaves out the first bytes. A break costs what was within the compressor (128 KiB with zstd).
The parts stay compressed, in files `.part-NUMBER-BYTES` (unpacked), names that no host may give.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from diskbench.errors import ConnectionLost, EvidenceDamaged, LimitExceeded
from diskbench.limits import TAR_READ_BYTES
from diskbench.packed import ZstdError, unpacked
from diskbench.ports import ByteSink
from diskbench.units import format_bytes

_BLOCK = 64 * 1024
_WINDOW_LOG = 23
"""The most that a decoder of zstd holds, 8 MiB: the window of all levels to 19 without --long."""
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_PATTERN = ".part-*"


@dataclass
class Parts:
    """The parts of one archive in `directory`, of at most `limit` bytes, packed and unpacked. More
    raises LimitExceeded, which says that `what` takes more, and gives `advice`.

    `fruitless` is how many connections in a row brought none, `restarts` how often what had arrived
    was damaged.
    """

    directory: Path
    limit: int
    what: str = "an archive"
    advice: str = ""
    fruitless: int = 0
    restarts: int = 0
    files: list[Path] = field(default_factory=list)
    _packed: int = 0
    _part: IO[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.files = sorted(self.directory.glob(_PATTERN))

    @property
    def arrived(self) -> int:
        """Bytes of the archive, unpacked, as long as it is not whole."""
        return sum(int(path.name.rpartition("-")[2]) for path in self.files)

    @property
    def packed_by(self) -> str:
        """`zstd`, `gzip`, or `cat`; nothing before the first part is here."""
        return _packed_by(self.files[0]) if self.files else ""

    def check(self, size: int) -> None:
        """Raise LimitExceeded where `size` bytes are more than the limit."""
        if size > self.limit:
            raise LimitExceeded(
                f"{self.what} takes more than {format_bytes(self.limit)}", advice=self.advice
            )

    def write(self, data: bytes, /) -> object:
        """Take more of the part that is fetched, packed. Raises LimitExceeded beyond `limit`."""
        self._packed += len(data)
        self.check(self._packed)
        return self._part.write(data)

    def fetch(self, get: Callable[[ByteSink], int]) -> int:
        """Let `get` write the next part; returns its exit status. Raises ConnectionLost where it
        broke, with what came through kept, EvidenceDamaged where that does not unpack, and
        LimitExceeded beyond `limit`."""
        new = self.directory / ".last-part"
        self._packed = sum(path.stat().st_size for path in self.files)
        with new.open("wb") as self._part:
            try:
                status = get(self)
            except ConnectionLost:
                self._part.flush()
                brought = self._keep(new)
                self.fruitless = 0 if brought else self.fruitless + 1
                raise
        self.files.append(new)
        return status

    def _keep(self, new: Path) -> int:
        """Name what came of a part by its unpacked bytes, and return these."""
        size, before = 0, self.arrived
        for block in _unpacked(new, self.packed_by or _packed_by(new)):
            size += len(block)
            self.check(before + size)
        if size:
            name = f".part-{len(self.files):06}-{size}"
            self.files.append(new.rename(self.directory / name))
        return size

    def discard(self) -> None:
        """Remove all parts."""
        for path in (*self.files, self.directory / ".last-part"):
            path.unlink(missing_ok=True)
        self.files.clear()

    def blocks(self) -> Iterator[bytes]:
        """The archive, unpacked, in blocks. Raises EvidenceDamaged where it does not unpack."""
        packed_by = self.packed_by
        for path in self.files:
            yield from _unpacked(path, packed_by)


class Unpacked:
    """The archive of `parts` for tarfile, which reads it from the front and steps back by one byte
    at most, and is given little at once: it would read as much as a header says."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._blocks = parts, parts.blocks()
        self._held = b""
        self._last = b""
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; fewer at the end only. Raises ValueError for more than a header
        takes, and LimitExceeded beyond the limit."""
        if not 0 <= size <= TAR_READ_BYTES:
            raise ValueError(f"a header of {size:,} bytes")
        self._parts.check(self._at + size)
        while len(self._held) < size and (block := next(self._blocks, b"")):
            self._held += block
        data, self._held = self._held[:size], self._held[size:]
        self._at += len(data)
        self._last = data[-1:] or self._last
        return data

    def seek(self, position: int) -> int:
        """Go on to `position`, or back by a byte. Raises ValueError for a longer way back."""
        self._parts.check(position)
        if position == self._at - 1 and self._last:
            self._held, self._last = self._last + self._held, b""
            self._at = position
        if position < self._at:
            raise ValueError("an archive that refers back")
        while self._at < position and self.read(min(position - self._at, TAR_READ_BYTES)):
            pass
        return self._at

    def tell(self) -> int:
        """Bytes read so far."""
        return self._at


def _packed_by(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(len(_ZSTD))
    if head == _ZSTD:
        return "zstd"
    return "gzip" if head.startswith(_GZIP) else "cat"


def _unpacked(path: Path, packed_by: str) -> Iterator[bytes]:
    """A part unpacked as far as it goes: one that was cut ends early."""
    with path.open("rb") as file:
        try:
            if packed_by == "zstd":
                yield from unpacked(file, window_log=_WINDOW_LOG)
            elif packed_by == "gzip":
                inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
                while not inflate.eof and (data := file.read(_BLOCK)):
                    # An empty answer means that all is given that can be of this data.
                    while block := inflate.decompress(data, _BLOCK):
                        yield block
                        data = inflate.unconsumed_tail
            else:
                while block := file.read(_BLOCK):
                    yield block
        except (zlib.error, ZstdError) as error:
            raise EvidenceDamaged(f"an archive does not unpack: {error}") from error
