"""Files that users write: read whole, but never without a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MAX_BYTES: Final = 4 * 2**20
"""More than any profile or matrix that a person writes; a device such as /dev/zero has no end."""


def read_text(path: Path) -> str:
    """The UTF-8 text of a file. Raises OSError, and ValueError when it is longer than MAX_BYTES or
    no UTF-8."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is longer than {MAX_BYTES:,} bytes")
    return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
