"""How far a matrix is: what `diskbench matrix status` prints."""

from typing import Literal

from diskbench.model.base import Frozen
from diskbench.model.campaign import CampaignState, CellRow, CellState


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
