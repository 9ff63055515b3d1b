"""The one figure that stands for a run, or for the runs of a trial, in a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.model.phase import PhaseKind
    from diskbench.model.result import RunState
    from diskbench.model.run import Run
    from diskbench.model.verdict import Trust


@dataclass(frozen=True, slots=True)
class Headline:
    """The figure of one step of a run, of all its directions together, and its trust.

    `kind` is the kind of the level that the figure is of, None where the step kept one. `trust` is
    None where nothing judged the run yet.
    """

    step: str
    iops: float | None
    bytes_per_s: float | None
    kind: PhaseKind | None = None
    trust: Trust | None = None

    @property
    def rate(self) -> float:
        """The value by which headlines of one step are ordered."""
        return self.iops if self.iops is not None else self.bytes_per_s or 0.0


@dataclass(frozen=True, slots=True)
class ListedStep:
    """What chooses the headline of a run: a measured step with its load and its figures."""

    step: str
    is_random: bool
    block_bytes: int | None
    iops: float | None
    bytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class ListedTrial:
    """A line of `results list`: the runs of a trial that meet its filters.

    `newest` is the newest of them; `states` counts them by state; `suspended`: no process works on
    those that have not ended.
    """

    newest: Run
    states: Mapping[RunState, int]
    headline: Headline | None
    suspended: bool = False

    @property
    def runs(self) -> int:
        """The number of runs."""
        return sum(self.states.values())
