"""Hash, compress and decompress evidence files in chunks."""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from diskbench.errors import EvidenceDamaged, LimitExceeded
from diskbench.limits import EXPANSION, EXPANSION_FREE_BYTES, FILE_BYTES, PARSED_BYTES, RECORD_BYTES
from diskbench.packed import ZstdError, pack, pack_file, unpack, unpacked
from diskbench.ports import EvidenceStore
from diskbench.store.manifest import FileRecord
from diskbench.units import format_bytes

Content = bytes | Path
"""The content of a file: bytes, or a local file that is streamed."""
PACKED = ".zst"
_PIECE_BYTES = 2**20
_RESTORE = "restore it from a copy of the store; the other runs are not affected"


def size_and_digest(content: Content) -> tuple[int, str]:
    """The size in bytes and the SHA-256 of a file's content."""
    if isinstance(content, bytes):
        return len(content), hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        return content.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def put_content(store: EvidenceStore, key: str, content: Content) -> None:
    """Write `content` under a new key, compressed when the key ends in PACKED."""
    if not key.endswith(PACKED):
        store.put(key, content)
    elif isinstance(content, bytes):
        store.put(key, pack(content))
    else:
        with tempfile.TemporaryDirectory(prefix="diskbench-zstd-") as directory:
            packed = Path(directory, "packed")
            with content.open("rb") as source, packed.open("wb") as target:
                pack_file(source, target, content.stat().st_size)
            store.put(key, packed)


def read_file(
    store: EvidenceStore, folder: str, name: str, file: FileRecord, *, limit: int = PARSED_BYTES
) -> bytes:
    """One file, decompressed and verified. Raises EvidenceDamaged when it differs from its record,
    LimitExceeded when its record names more than `limit` bytes."""
    place = f"{folder}/{file.key}"
    if file.bytes > limit:
        raise LimitExceeded(
            f"evidence {store.url}: {place} holds {format_bytes(file.bytes)}; at most "
            f"{format_bytes(limit)} are read into memory",
            advice="it is kept: read it with other tools; fewer jobs with group_reporting make "
            "fio's output smaller",
        )
    try:
        data = store.get(place, limit=limit + RECORD_BYTES)
    except KeyError:
        raise _missing(store, place) from None
    if file.key.endswith(PACKED):
        _check_ratio(len(data), file.bytes, place)
        try:
            data = unpack(data, file.bytes)
        except OverflowError:
            raise _too_large(place, file.bytes) from None
        except ZstdError as error:
            raise EvidenceDamaged(f"evidence {place} cannot be decompressed: {error}") from error
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise _differs(store, place, name)
    return data


def read_ends(
    store: EvidenceStore, folder: str, name: str, file: FileRecord, *, end_bytes: int
) -> bytes:
    """The first and last `end_bytes` of a file of any size, verified as a whole."""
    place = f"{folder}/{file.key}"
    head, tail, digest = bytearray(), bytearray(), hashlib.sha256()
    with tempfile.TemporaryFile() as copy:
        _copy(store, place, copy)
        for piece in _pieces(copy, place, file):
            digest.update(piece)
            head += piece[: max(0, end_bytes - len(head))]
            tail += piece
            del tail[: max(0, len(tail) - end_bytes)]
    if digest.hexdigest() != file.sha256:
        raise _differs(store, place, name)
    return bytes(head) + b"\n" + bytes(tail)


def copy_as_kept(store: EvidenceStore, folder: str, file: FileRecord, target: Path) -> None:
    """Copy a stored file to `target`, compressed or not. Raises EvidenceDamaged when it is missing
    or decompresses to more than its recorded size, so the caller may decompress it safely."""
    place = f"{folder}/{file.key}"
    with target.open("w+b") as copy:
        _copy(store, place, copy)
        for _ in _pieces(copy, place, file):
            pass


def _copy(store: EvidenceStore, place: str, target: IO[bytes]) -> None:
    try:
        store.copy(place, target)
    except KeyError:
        raise _missing(store, place) from None
    target.seek(0)


def _pieces(file_on_disk: IO[bytes], place: str, file: FileRecord) -> Iterator[bytes]:
    """The decompressed content of a file in chunks; EvidenceDamaged beyond its recorded size."""
    packed = file_on_disk.seek(0, 2)
    file_on_disk.seek(0)
    _check_ratio(packed, file.bytes, place)
    pieces = iter(lambda: file_on_disk.read(_PIECE_BYTES), b"")
    total = 0
    try:
        for piece in unpacked(file_on_disk) if file.key.endswith(PACKED) else pieces:
            total += len(piece)
            if total > min(file.bytes, FILE_BYTES):
                raise _too_large(place, file.bytes)
            yield piece
    except ZstdError as error:
        raise EvidenceDamaged(f"evidence {place} cannot be decompressed: {error}") from error


def _check_ratio(packed: int, size: int, place: str) -> None:
    if size > EXPANSION_FREE_BYTES and size > packed * EXPANSION:
        raise EvidenceDamaged(
            f"evidence: {place} has {format_bytes(packed)} and its record names "
            f"{format_bytes(size)}, more than {EXPANSION:,} times as much",
            advice=_RESTORE,
        )


def _too_large(place: str, size: int) -> EvidenceDamaged:
    return EvidenceDamaged(
        f"evidence: {place} holds more than the {size:,} bytes that were kept", advice=_RESTORE
    )


def _missing(store: EvidenceStore, place: str) -> EvidenceDamaged:
    return EvidenceDamaged(f"evidence {store.url}: {place} is missing", advice=_RESTORE)


def _differs(store: EvidenceStore, place: str, name: str) -> EvidenceDamaged:
    return EvidenceDamaged(
        f"evidence {store.url}: {place} is not what was kept (SHA-256 of {name})", advice=_RESTORE
    )
