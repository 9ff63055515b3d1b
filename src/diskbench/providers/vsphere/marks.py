"""The lease in a machine's vSphere notes: pure.

The cloning call sets the notes, so that no machine is ever without them; custom attributes need
a second call and a global privilege.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from diskbench.model.rental import Claim

_LINE = re.compile(r"^diskbench-(lease|expires|owner|version): (.*)$", re.MULTILINE)
_LEASE = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


class Mark(Frozen):
    """The lease in a machine's notes. `expires_at` and `owner` are None where they cannot be
    read."""

    lease_id: str
    expires_at: float | None = None
    owner: str | None = None


def machine_name(lease_id: str) -> str:
    """The name of a lease's machine, and of its directories on datastores."""
    return f"diskbench-{lease_id}-machine"


def notes(claim: Claim) -> str:
    """The notes of the machine of `claim`."""
    lines = {
        "lease": claim.lease_id,
        "expires": f"{claim.expires_at:.0f}",
        "owner": " ".join(claim.owner.split()),
        "version": claim.version,
    }
    entries = [f"diskbench-{key}: {value}" for key, value in lines.items()]
    return "\n".join(
        ["Made by diskbench to measure a disk; it is deleted when its lease ends.", *entries]
    )


def moved(annotation: str, expires_at: float) -> str:
    """The machine's notes with a new expiry; the other text stays."""
    line = f"diskbench-expires: {expires_at:.0f}"
    other_lines = [
        line for line in annotation.splitlines() if not line.startswith("diskbench-expires: ")
    ]
    at = (
        next(
            (
                i
                for i, other_line in enumerate(other_lines)
                if other_line.startswith("diskbench-lease: ")
            ),
            -1,
        )
        + 1
    )
    return "\n".join([*other_lines[:at], line, *other_lines[at:]])


def mark(annotation: str | None) -> Mark | None:
    """The mark in a machine's notes; None for a machine of somebody else."""
    fields = dict(_LINE.findall(annotation or ""))
    lease_id = fields.get("lease", "").strip()
    if not _LEASE.fullmatch(lease_id):
        return None
    expires = fields.get("expires", "").strip()
    return Mark(
        lease_id=lease_id,
        expires_at=float(expires) if expires.isdecimal() else None,
        owner=fields.get("owner", "").strip() or None,
    )
