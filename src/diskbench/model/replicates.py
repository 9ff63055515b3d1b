"""The statistics of several trials: what `diskbench results show` prints for a matrix."""

from typing import Literal

from diskbench.model.base import Frozen
from diskbench.model.comparison import Metric, Replicated
from diskbench.model.matrix_progress import UntilStatus
from diskbench.model.verdict import StepVerdict


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


class FlaggedTrial(Frozen):
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
    flagged: tuple[FlaggedTrial, ...] = ()
    left_out: tuple[str, ...] = ()
    until: UntilStatus | None = None
