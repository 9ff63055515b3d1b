"""Names of resources: full and partial URLs, as Compute takes and gives them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

BASE = "https://www.googleapis.com/compute/v1/"
_FULL = re.compile(r"https://(?:www|compute)\.googleapis\.com/compute/v1/(projects/.+)")


def link(path: str) -> str:
    """The self link of the resource with that path."""
    return BASE + path


def path_of(reference: str, project: str) -> str | None:
    """`projects/…` of a full or partial URL; None for what is neither."""
    if found := _FULL.fullmatch(reference):
        return found[1]
    if reference.startswith("projects/"):
        return reference
    if re.match(r"(?:zones|regions|global)/", reference):
        return f"projects/{project}/{reference}"
    return None


def last(reference: str) -> str:
    """The name at the end of a reference."""
    return reference.rpartition("/")[2]


def rfc3339(at: float) -> str:
    """Seconds since the epoch as the service writes them."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
