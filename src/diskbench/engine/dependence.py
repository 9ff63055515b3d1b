"""Which trials depend on each other, and are one sample between them (MR-5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LABEL = "machine"


def machine_of(row: Mapping[str, Any], *, rented: bool) -> str:
    """What makes trials depend on each other: a machine that they had in turn, or that was there
    before. `row` is that of a run, `rented` whether its machine was.

    Of imported runs only what their files or a label `machine` tell is known: those that tell
    nothing may all be of one.
    """
    if row["machine_lease"]:
        return str(row["machine_lease"])
    if rented:
        return str(row["trial_id"])
    named = row["labels"].get(_LABEL) if row["imported"] and row["labels"] else None
    return f"there:{row['provider']}:{named or row['address'] or row['hostname'] or ''}"
