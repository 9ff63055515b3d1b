"""Where a lease's keys lie on the controller."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from pathlib import Path

_LEASE = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


def lease_directory(lease_id: str) -> Path:
    """The directory of a lease's key files, mode 0700; it goes with the lease.

    Raises InvalidValue for an id that is no plain name: ids are read back from tags, which others
    can write, and the directory is removed.
    """
    from platformdirs import user_data_path

    if not _LEASE.fullmatch(lease_id):
        raise InvalidValue(
            f"{lease_id!r} is no lease of diskbench", advice="look at who set that tag"
        )
    return user_data_path("diskbench") / "leases" / lease_id
