"""A CD-ROM with a few small files: ISO 9660 (ECMA-119, 4th edition), level of detail as Linux reads
it. Azure's own is UDF; cloud-init mounts either."""

import struct
from collections.abc import Mapping

_SECTOR = 2048
_ROOT, _PATHS_LITTLE, _PATHS_BIG, _FIRST_FILE = 20, 18, 19, 21
"""Sectors: 16 and 17 hold the volume descriptors (6.2.1)."""
_DATE = bytes((126, 1, 1, 0, 0, 0, 0))  # 9.1.5


def iso(files: Mapping[str, bytes], label: str) -> bytes:
    records = [_record(b"\0", _ROOT, _SECTOR, flags=2), _record(b"\1", _ROOT, _SECTOR, flags=2)]
    body, sector = b"", _FIRST_FILE
    for name, content in sorted(files.items()):
        records.append(_record(f"{name};1".encode(), sector, len(content), flags=0))
        padded = content.ljust(-(-len(content) // _SECTOR) * _SECTOR, b"\0")
        body, sector = body + padded, sector + len(padded) // _SECTOR
    root = b"".join(records)
    assert len(root) <= _SECTOR, "one sector of names is all there is"
    path = struct.pack("<BBIH2s", 1, 0, _ROOT, 1, b"\0\0")
    path_big = struct.pack(">BBIH2s", 1, 0, _ROOT, 1, b"\0\0")
    primary = b"".join(
        (
            b"\1CD001\1\0", b" " * 32, label.encode().ljust(32), bytes(8), _both(sector, "I"),
            bytes(32), _both(1, "H"), _both(1, "H"), _both(_SECTOR, "H"), _both(len(path), "I"),
            struct.pack("<II", _PATHS_LITTLE, 0), struct.pack(">II", _PATHS_BIG, 0),
            records[0], b" " * (4 * 128 + 3 * 37), (b"0" * 16 + b"\0") * 4, b"\1\0",
        )
    )  # fmt: skip
    sectors = (primary, b"\xffCD001\1", path, path_big, root)
    return bytes(16 * _SECTOR) + b"".join(one.ljust(_SECTOR, b"\0") for one in sectors) + body


def _both(number: int, kind: str) -> bytes:
    """A number in both byte orders (7.2.3, 7.3.3)."""
    return struct.pack(f"<{kind}", number) + struct.pack(f">{kind}", number)


def _record(name: bytes, sector: int, size: int, *, flags: int) -> bytes:
    """A directory record (9.1), of even length."""
    fixed = _both(sector, "I") + _both(size, "I") + _DATE
    rest = fixed + bytes((flags, 0, 0)) + _both(1, "H") + bytes((len(name),)) + name
    whole = b"\0" + rest
    padding = b"\0" if (len(whole) + 1) % 2 else b""
    return bytes((len(whole) + 1 + len(padding),)) + whole + padding
