"""How a station of the workflow ended: what crosses a checkpoint, so plain JSON."""

from typing import Literal

from diskbench.errors import DiskbenchError
from diskbench.model.base import Frozen
from diskbench.model.result import RunState, StepResult


class Problem(Frozen):
    """An error as data: its class name, what was wrong, and what to do next."""

    kind: str
    message: str
    advice: str = ""


def problem_of(error: DiskbenchError) -> Problem:
    """An error as the data that a checkpoint can hold."""
    return Problem(kind=type(error).__name__, message=error.message, advice=error.advice)


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
