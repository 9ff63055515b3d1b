"""Read a text file of a user whole, up to a limit."""

from __future__ import annotations

from pathlib import Path

from diskbench.units import format_bytes


def read_text(path: Path, limit: int) -> str:
    """The UTF-8 text of a file, its lines ended by line feeds. A device such as /dev/zero has no
    end, so no more than `limit` bytes are read.

    Raises OSError, and ValueError when the file is longer or not UTF-8.
    """
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"it has more than {format_bytes(limit)}")
    return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
