"""Notes that a user should read before a run starts, and that are stored in its plan."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.model.spec import Plan


def with_notes(plan: Plan, stores: Iterable[Path | None]) -> Plan:
    """The plan with a note where a store of diskbench is on the measured disk, and one where the
    target is on a network filesystem."""
    notes = [*plan.notes]
    if plan.cell.provider == "local" and plan.target.kind == "directory":
        measured = _device(Path(plan.target.path))
        shared = [p for p in stores if p is not None and _device(p) == measured]
        if shared:
            notes.append(
                f"{shared[0]} is on the measured disk: diskbench's own writes (a few kB a second) "
                "are in the result; --database-url and --evidence-url move them"
            )
    if plan.facts.network_filesystem:
        notes.append(f"{plan.target.path} is on a network filesystem: the network is measured too")
    return plan.model_copy(update={"notes": tuple(notes)})


def _device(path: Path) -> int | None:
    """The filesystem's device number of a path, or of its nearest existing ancestor."""
    for candidate in (path, *path.parents):
        try:
            return candidate.stat().st_dev
        except OSError:
            continue
    return None
