"""The file of a recorded load that was typed, for `advise --load` and `profiles from-load`."""

from __future__ import annotations

from pathlib import Path

from diskbench.errors import InvalidValue
from diskbench.importers.load import Recorded, read_load
from diskbench.limits import IMPORT_BYTES
from diskbench.units import parse_size_bytes


def load_of(path: Path, device: str | None, block: str | None) -> Recorded:
    """The recorded load in a file that was typed. Raises InvalidValue, UnknownName."""
    try:
        if path.stat().st_size > IMPORT_BYTES:
            raise InvalidValue(f"{path} is larger than 512 MiB", advice="record fewer devices")
        data = path.read_bytes()
    except OSError as error:
        raise InvalidValue(
            f"{path} cannot be read: {error.strerror}", advice="give the path of a file"
        ) from error
    size = None if block is None else parse_size_bytes(block)
    return read_load(data, path.name, device=device, block=size or None)
