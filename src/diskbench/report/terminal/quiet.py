"""What a display of progress is, and the one of --quiet: nothing. It imports nothing that draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from diskbench.model.result import StepResult, Tick
    from diskbench.model.spec import Plan, Step


class Progress(Protocol):
    """Receives progress from the threads of the trials; its methods never block or raise."""

    def measuring(self, plan: Plan) -> None:
        """A trial is about to be measured by this plan; it may have been a draft until now."""
        ...

    def step_started(self, trial_id: str, run_index: int, step: Step) -> None:
        """A step is about to run."""
        ...

    def tick(self, trial_id: str, tick: Tick) -> None:
        """One second of the running step."""
        ...

    def step_finished(self, trial_id: str, result: StepResult) -> None:
        """A step is done."""
        ...

    def note(self, trial_id: str, text: str) -> None:
        """An event to report: a broken connection, a stop request that takes effect."""
        ...

    def close(self) -> None:
        """Release the terminal; repeated calls have no effect."""
        ...


class QuietProgress:
    """The display of --quiet, which shows nothing."""

    def measuring(self, plan: Plan) -> None:
        """See Progress."""

    def step_started(self, trial_id: str, run_index: int, step: Step) -> None:
        """See Progress."""

    def tick(self, trial_id: str, tick: Tick) -> None:
        """See Progress."""

    def step_finished(self, trial_id: str, result: StepResult) -> None:
        """See Progress."""

    def note(self, trial_id: str, text: str) -> None:
        """See Progress."""

    def close(self) -> None:
        """See Progress."""
