"""The order of work in one cell of a matrix, independent of how it is made durable.

    open ──▶ rent ──▶ the trial (engine/trial/order.py) ──▶ settle

Every cell is settled, whatever happens: what was rented is released, and its row says how it ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from diskbench.engine.trial.order import run_trial

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.engine.trial.order import Stations
    from diskbench.model.outcome import Outcome, Problem, TrialEnd
    from diskbench.model.spec import Plan


class CellStations(Protocol):
    """The checkpointed steps around a trial. Each is idempotent."""

    def open(self, trial_id: str) -> Outcome:
        """Plan the trial and write its rows, lease first; nothing is rented."""
        ...

    def rent(self, trial_id: str) -> Outcome:
        """Acquire the machine, or connect to the one that exists."""
        ...

    def settle(
        self, trial_id: str, end: TrialEnd | None, problem: Problem | None, *, rented: bool
    ) -> None:
        """Release everything, and write into the cell's row how it ended or when it is retried.
        `rented`: whether renting was begun."""
        ...


def run_cell(
    trial_id: str,
    cell: CellStations,
    trial: Stations,
    load_plan: Callable[[str], Plan],
) -> None:
    """Run one attempt of a cell to its end."""
    opened = cell.open(trial_id)
    if opened.state != "done":
        cell.settle(trial_id, None, opened.problem, rented=False)
        return
    rented = cell.rent(trial_id)
    if rented.state != "done":
        cell.settle(trial_id, None, rented.problem, rented=True)
        return
    cell.settle(trial_id, run_trial(load_plan(trial_id), trial), None, rented=True)
