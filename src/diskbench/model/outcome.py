"""How a station of the workflow ended: what crosses a checkpoint, so plain JSON."""

from typing import Literal

from diskbench.errors import DiskbenchError, Interrupted
from diskbench.model.base import Frozen
from diskbench.model.result import RunState, StepResult


class Problem(Frozen):
    """An error as the data that a checkpoint, a row or a manifest holds (errors.py says what each
    field means). `kind` is its class name, or a word of ours for what was never raised: it is shown
    and filtered by, and decides nothing."""

    kind: str
    message: str
    advice: str = ""
    retryable: bool = False
    passing: bool = False
    field: str = ""
    exit_code: int = 1

    @property
    def is_stop(self) -> bool:
        """Whether a person stopped it."""
        return self.exit_code == Interrupted.exit_code


def problem_of(error: BaseException) -> Problem:
    """Return an error as data; an unexpected exception is reported as a fault of diskbench."""
    if not isinstance(error, DiskbenchError):
        return Problem(kind=type(error).__name__, message=f"a fault in diskbench: {error!r}")
    return Problem(
        kind=type(error).__name__,
        message=error.message,
        advice=error.advice,
        retryable=error.retryable,
        passing=error.passing,
        field=error.field,
        exit_code=error.exit_code,
    )


class Outcome(Frozen):
    """The end of one station: done, failed (it ran and went wrong) or stopped (a person asked).

    `commands` are those that made a filesystem, for the record.
    """

    state: Literal["done", "failed", "stopped"]
    result: StepResult | None = None
    problem: Problem | None = None
    commands: tuple[str, ...] = ()


class RunEnd(Frozen):
    """How one run of a trial ended."""

    run_id: str
    run_index: int
    state: RunState
    problem: Problem | None = None


class TrialEnd(Frozen):
    """How a trial ended: one entry a run, in order."""

    trial_id: str
    runs: tuple[RunEnd, ...]
