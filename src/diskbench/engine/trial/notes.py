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
                f"{_from_home(shared[0])} is on this disk too: a few kB/s of diskbench's own "
                "writes are in the result"
            )
    if plan.facts.network_filesystem:
        notes.append(f"{plan.target.path} is on a network filesystem: the network is measured too")
    return plan.model_copy(update={"notes": tuple(notes)})


def _from_home(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _device(path: Path) -> int | None:
    """The filesystem's device number of a path, or of its nearest existing ancestor."""
    for candidate in (path, *path.parents):
        try:
            return candidate.stat().st_dev
        except OSError:
            continue
    return None
