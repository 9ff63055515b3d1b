"""Which trials depend on each other, and are one sample between them (MR-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.model.run import Run

_LABEL = "machine"


def machine_of(run: Run, *, rented: bool) -> str:
    """What makes trials depend on each other: a machine that they had in turn, or that was there
    before. `rented` says whether its machine was.

    Of imported runs only what their files or a label `machine` tell is known: those that tell
    nothing may all be of one.
    """
    if run.machine_lease:
        return run.machine_lease
    if rented:
        return run.trial_id
    named = run.labels.get(_LABEL) if run.imported and run.labels else None
    return f"there:{run.provider}:{named or run.place}"
