"""The directory of a lease's keys on the controller."""

from __future__ import annotations

import re
from pathlib import Path

from platformdirs import user_data_path

from diskbench.errors import InvalidValue

_LEASE = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


def lease_directory(lease_id: str) -> Path:
    """The directory of a lease's key files, mode 0700; it is removed with the lease.

    Raises InvalidValue for an id that is no plain name: ids are read back from tags, which others
    can write, and the directory is removed.
    """
    if not _LEASE.fullmatch(lease_id):
        raise InvalidValue(
            f"{lease_id!r} is not a lease of diskbench", advice="look at who set that tag"
        )
    return _base() / "leases" / lease_id


def _base() -> Path:
    """The user's data directory, unless its path contains a blank (macOS), which ssh would
    misread."""
    usual = user_data_path("diskbench")
    return Path.home() / ".diskbench" if re.search(r"\s", str(usual)) else usual
