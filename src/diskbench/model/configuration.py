"""One repeatedly measured configuration with its history: a page of the published site."""

from typing import Literal

from diskbench.model.base import Frozen
from diskbench.model.comparison import Metric, Replicated
from diskbench.model.history import History


class Sampled(Frozen):
    """The figure of one trial at its time; `run_id` is its first run, `at` when that began."""

    run_id: str
    trial_id: str
    campaign_id: str
    at: str
    value: float


class MetricHistory(Frozen):
    """One step, direction and metric over time.

    Of trials without a date nothing is over time: they are in `now` only where no trial has one.

    `now` are the replicates since the last change of the level (since the first time where there
    was none) on which the same was found as on the newest: `left_out` are those since then on which
    something else was. `sampled` are all trials but those that span a cliff, oldest first.
    """

    rw: str | None
    block_bytes: int | None
    iodepth: int | None
    history: History
    now: Replicated
    left_out: int = 0
    sampled: tuple[Sampled, ...]

    @property
    def name(self) -> str:
        """`rand-read-4k read`."""
        step, direction = self.history.step, self.history.direction
        return step if step == direction else f"{step} {direction}"

    @property
    def metric(self) -> Metric:
        """What is followed."""
        return self.history.metric


class FactChange(Frozen):
    """A fact that is not the same at the time `at` as at the time before it."""

    at: str
    fact: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class Configuration(Frozen):
    """All runs of one subject: what was asked for in words and field by field, its runs (newest
    first), and each step's history. `key` is its permanent name: a digest of the fields.

    `first` and `last` are when its runs were measured, empty where no date is known; `undated`
    are the runs without a date.

    `region`, `disk` and `machine` are for a person to sort by, and empty where nothing is known.
    """

    key: str
    words: str
    fields: tuple[tuple[str, str], ...]
    provider: str
    region: str = ""
    disk: str = ""
    machine: str = ""
    profile: str = ""
    marks: tuple[Literal["emulated", "imported"], ...] = ()
    runs: tuple[str, ...] = ()
    times: int = 0
    machines: int = 0
    first: str = ""
    last: str = ""
    undated: tuple[str, ...] = ()
    tracks: tuple[MetricHistory, ...] = ()
    facts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What was found, each fact with all its values, the newest last."""
    fact_changes: tuple[FactChange, ...] = ()
