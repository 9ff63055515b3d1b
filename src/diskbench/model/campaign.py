"""A running matrix: the state of each of its cells."""

from typing import Any, Final, Literal

from diskbench.model.base import Frozen
from diskbench.model.outcome import Problem
from diskbench.model.spec import Cell

CellState = Literal[
    "waiting", "queued", "renting", "measuring", "done", "failed", "refused", "cancelled", "spared"
]
"""`waiting` for its turn, or for another try; `queued` for a worker; `renting` and `measuring` in a
worker's hands; `refused` never began, because budget or deadline would have been passed; `spared`
is a further replicate that was not needed, or not allowed for, under `until_ci`."""

LIVE: frozenset[CellState] = frozenset({"queued", "renting", "measuring"})
"""The states of a cell that takes one of the places that may be taken at once."""
FINAL: frozenset[CellState] = frozenset({"done", "failed", "refused", "cancelled", "spared"})

ERROR_COLUMNS: Final = ("error_kind", "error", "advice", "error_data")
"""The columns of a cell that `error_columns` gives."""

CampaignState = Literal["running", "cancelling", "done"]


class CellRow(Frozen):
    """One cell of a matrix and its state.

    `attempt` is 1 from the first start; every attempt is a separate trial, `trial_id` is the
    newest. `not_before` is UTC. `owner` is the process that runs it; `cancel` is True once a user
    asked to stop only this cell. `cost_usd` is the expected cost of one attempt until it ends, then
    its actual cost. Cells with the same `machine` share it one after another.
    """

    campaign_id: str
    position: int
    key: str
    block: str
    route: str
    partition: str
    machine: str | None = None
    cell: Cell
    zones: tuple[str, ...] = ()
    state: CellState = "waiting"
    attempt: int = 0
    not_before: str | None = None
    trial_id: str | None = None
    owner: str | None = None
    cancel: bool | None = None
    note: str | None = None
    error_kind: str | None = None
    error: str | None = None
    advice: str | None = None
    error_data: dict[str, Any] | None = None
    """The fields of a Problem that are not text; None for a cell that was kept without them."""
    expected_s: float | None = None
    hourly_usd: float | None = None
    cost_usd: float | None = None
    queued_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None

    @property
    def problem(self) -> Problem | None:
        """Why the cell failed, or why its last attempt did."""
        if self.error is None:
            return None
        return Problem(
            kind=self.error_kind or "",
            message=self.error,
            advice=self.advice or "",
            **(self.error_data or {}),
        )


def error_columns(problem: Problem | None) -> dict[str, Any]:
    """Return the columns of a cell that store `problem`; `CellRow.problem` reads it back."""
    if problem is None:
        return dict.fromkeys(ERROR_COLUMNS)
    return {
        "error_kind": problem.kind,
        "error": problem.message,
        "advice": problem.advice or None,
        "error_data": problem.model_dump(mode="json", exclude={"kind", "message", "advice"}),
    }
