"""Which trials depend on each other and therefore count as one sample (MR-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.model.run import Run

_LABEL = "machine"


def machine_of(run: Run, *, rented: bool) -> str:
    """The key of the machine on which trials depend: one that they used in turn, or one that
    existed before. `rented` says whether the run's machine was rented.

    Of an imported run only what its files or its label `machine` say is known; imported runs
    without either may all be of one machine, and get one key.
    """
    if run.machine_lease:
        return run.machine_lease
    if rented:
        return run.trial_id
    named = run.labels.get(_LABEL) if run.imported and run.labels else None
    return f"there:{run.provider}:{named or run.place}"
