"""A running matrix: the state of each of its cells, how far it is (`diskbench matrix status`), the
statistics of its replicates (`diskbench results show`), and what runs now, everywhere (`diskbench
status`).

Moments are UTC in ISO 8601. Ages are seconds until `at`.
"""

from typing import Any, Final, Literal

from diskbench.model.base import Frozen
from diskbench.model.comparison import Metric, Replicated
from diskbench.model.outcome import Problem
from diskbench.model.spec import Cell
from diskbench.model.verdict import StepVerdict

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
        kind, advice, data = self.error_kind or "", self.advice or "", self.error_data or {}
        return Problem(kind=kind, message=self.error, advice=advice, **data)


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


class CellStatus(Frozen):
    """One cell, and what its running step does now (`write at 12 s: 3,000 IOPS`)."""

    row: CellRow
    doing: str = ""
    spent_usd: float = 0.0


class UntilStatus(Frozen):
    """How far a block is whose replicates go on until an interval is narrow (MR-7).

    Of its `n` replicates `width` is the larger half of the interval over the median, of the step
    that is worst off; None where there is no interval. `reached` says whether that is narrow
    enough, with the fewest replicates or more; `more` how many more are predicted to be needed
    (None: too many to measure); `ended` why no more are measured, empty while they are.
    """

    block: str
    wanted: float
    n: int
    step: str = ""
    width: float | None = None
    more: int | None = None
    reached: bool = False
    ended: str = ""


class MatrixStatus(Frozen):
    """The whole. `expected_end` is UTC, None where nothing is left or nothing is known. `worked_on`
    says whether a living process runs it: the one that runs it in its foreground, or,
    where it is `for_workers`, a worker that reaches any of its cells."""

    format: Literal[1] = 1
    campaign_id: str
    name: str
    state: CampaignState
    created_at: str
    finished_at: str | None = None
    for_workers: bool = False
    worked_on: bool = True
    budget_usd: float | None = None
    max_parallel: int
    counts: dict[CellState, int]
    spent_usd: float
    unpriced: int = 0
    expected_end: str | None = None
    cells: tuple[CellStatus, ...] = ()
    until: tuple[UntilStatus, ...] = ()


class ReplicateLine(Frozen):
    """One step and direction of one block, over trials that may be pooled (MR-14).

    `facts` are those that set these trials apart from others of the block. Of `after_cliff` trials
    the figure is the level after a cliff, `level`. `without` is what is left without the trials
    whose canary is off; None where none is, or nothing is left. `verdict` is on the whole step, all
    directions together, and stands with the first of them; None where it was not asked for.
    """

    block: str
    step: str
    direction: str
    metric: Metric
    replicated: Replicated
    facts: tuple[tuple[str, str], ...] = ()
    level: str | None = None
    after_cliff: int = 0
    apart: float = 0.0
    without: Replicated | None = None
    verdict: StepVerdict | None = None


class OddMachine(Frozen):
    """A trial on a machine whose canary differs from the others (MR-13), and how."""

    trial_id: str
    why: tuple[str, ...]


class Replicates(Frozen):
    """The whole. `left_out` are lines without a figure, and why. `until` is there where replicates
    went on until their interval was narrow (`run --until-ci`)."""

    format: Literal[1] = 1
    asked: str
    trials: int
    marks: tuple[str, ...] = ()
    lines: tuple[ReplicateLine, ...]
    flagged: tuple[OddMachine, ...] = ()
    left_out: tuple[str, ...] = ()
    until: UntilStatus | None = None


class WorkerSeen(Frozen):
    """A process that works: a worker, or one that runs something in its foreground.

    `queues` are the patterns that a worker serves, None for any other process; `concurrency` None
    is no limit of its own. `alive` is whether it exists, as far as can be known from here, and
    `beat_age_s` how long ago it said so itself.
    """

    executor_id: str
    name: str
    hostname: str
    pid: int
    version: str | None = None
    queues: tuple[str, ...] | None = None
    concurrency: int | None = None
    draining: bool = False
    started_at: str | None = None
    beat_age_s: float
    alive: bool
    running: int = 0
    """Cells and runs in its hands."""


class QueueSeen(Frozen):
    """Cells of one route and partition (provider and region), by whether they wait for their turn,
    for a worker, or run; and the living workers that serve the route."""

    route: str
    partition: str
    waiting: int = 0
    queued: int = 0
    running: int = 0
    workers: int = 0


class CellSeen(Frozen):
    """A cell of a matrix, or a run of no matrix, that a process has claimed.

    `doing` is its step and how fast it goes, or what it waits for; `worker` the name of the
    process, None where that is dead and no other process has taken it over yet; its state is
    `suspended` then.
    """

    trial_id: str
    name: str
    matrix: str | None = None
    matrix_id: str | None = None
    state: CellState | Literal["suspended"]
    doing: str = ""
    age_s: float | None = None
    worker: str | None = None


class LeaseSeen(Frozen):
    """Something that is rented, or lies on a host, and must be given back.

    `usd` is its cost so far, None where no price is known; `in_use` whether a living process works
    under it; `error` why it could not be given back the last time.
    """

    lease_id: str
    provider: str
    region: str | None = None
    created_at: str
    expires_at: str | None = None
    age_s: float
    usd: float | None = None
    in_use: bool
    error: str | None = None


class FleetDocument(Frozen):
    """Workers, queues, what runs, and what is rented. `usd` is what the open leases have cost so
    far, beside the `unpriced` ones."""

    format: Literal[1] = 1
    at: str
    workers: tuple[WorkerSeen, ...] = ()
    queues: tuple[QueueSeen, ...] = ()
    cells: tuple[CellSeen, ...] = ()
    leases: tuple[LeaseSeen, ...] = ()
    usd: float = 0.0
    unpriced: int = 0
