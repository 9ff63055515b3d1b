"""The history of repeated measurements: the JSON document of `diskbench regressions`, and what the
published site says of a configuration on its page and in its index.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from diskbench.model.base import Frozen
from diskbench.model.comparison import Difference, Metric, Replicated
from diskbench.model.verdict import Trust
from diskbench.units import counted, times


class LevelChange(Frozen):
    """The level is another one from the time `at` on, `before` being the last time on the old one.

    `change` is by what part of the old median: −0.1 is a tenth less. `regression` says whether
    that is worse. `since` counts the times on the new level until the next change. `differences`
    are facts that changed with it. `new`: without the newest time it would not have been found.
    """

    at: str
    before: str
    median_before: float
    median_after: float
    change: float
    regression: bool
    p: float
    since: int
    differences: tuple[Difference, ...] = ()
    new: bool = False


class HistoryPoint(Frozen):
    """One time: the median of its replicates, how many there were, and how many did not count:
    what was found there differs from the others (MR-14), or their figure spans a cliff."""

    at: str
    campaign_id: str
    value: float
    trials: int
    left_out: int = 0


class History(Frozen):
    """One step and direction of one block over time, the oldest first.

    `noise` is the coefficient of variation without the changes, `span` (max − min) / median,
    `visible` the least step that would be found three times after it in 95 of 100 cases; None where
    there are too few times for any. Of `after_cliff` trials the figure is the level after a cliff.
    """

    block: str
    step: str
    direction: str
    metric: Metric
    points: tuple[HistoryPoint, ...]
    changes: tuple[LevelChange, ...]
    noise: float
    span: float
    visible: float | None
    after_cliff: int = 0

    def nothing_words(self) -> str:
        """`no change in 9 measurements; …`, or how many changes there were; too few measurements
        say so."""
        count, changes = len(self.points), len(self.changes)
        if self.visible is None:
            return f"measured {times(count)}; at least six measurements are needed to find a change"
        words = counted(changes, "change") if changes else "no change"
        return f"{words} in {count} measurements; {self.noise_words()}"

    def noise_words(self) -> str:
        """`a change of 5 % or more would have been detected, noise 1.2 %`."""
        found = ""
        if self.visible is not None:
            found = f"a change of {self.visible * 100:.0f} % or more would have been detected, "
        return f"{found}noise {self.noise * 100:.1f} %"


class Regressions(Frozen):
    """All histories that were looked at. `undated` are trials that have no place in one: the time
    of measurement is not known."""

    format: Literal[1] = 1
    histories: tuple[History, ...]
    undated: tuple[str, ...] = ()


def regressions_json(histories: Iterable[History], undated: Collection[str]) -> Iterator[str]:
    """The indented JSON of Regressions in pieces, one history at a time. `undated` is read last: it
    may be filled while the histories are made."""
    yield '{\n  "format": 1,\n  "histories": ['
    separator, end = "\n    ", "]"
    for history in histories:
        yield separator + history.model_dump_json(indent=2).replace("\n", "\n    ")
        separator, end = ",\n    ", "\n  ]"
    undated_json = json.dumps(list(undated), indent=2, ensure_ascii=False).replace("\n", "\n  ")
    yield f'{end},\n  "undated": {undated_json}\n}}'


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
        return self.history.metric


class Configured(Frozen):
    """A subject and how often it was measured. `key` is its permanent name: a digest of its fields;
    `words` are what was asked for. `first` and `last` are when its runs were measured, empty where
    no date is known.

    `region`, `disk` and `machine` are for a person to sort by, and empty where nothing is known.
    """

    key: str
    words: str
    provider: str
    region: str = ""
    disk: str = ""
    machine: str = ""
    profile: str = ""
    marks: tuple[Literal["emulated", "imported", "published"], ...] = ()
    times: int = 0
    machines: int = 0
    first: str = ""
    last: str = ""


class Configuration(Configured):
    """All runs of one subject, field by field: its runs (newest first), and each step's history.
    `undated` are the runs without a date."""

    fields: tuple[tuple[str, str], ...]
    runs: tuple[str, ...] = ()
    undated: tuple[str, ...] = ()
    tracks: tuple[MetricHistory, ...] = ()
    facts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What was found, each fact with all its values, the newest last."""
    fact_changes: tuple[tuple[str, Difference], ...] = ()
    """The times at which a fact is not the same as at the time before, with both."""


class Best(Frozen):
    """The highest figure of a direction, and the step that gave it. `n` independent machines.
    `on_credit`: the disk served it from burst credit and ended before the credit did, so it says
    nothing about the rate that lasts."""

    value: float
    step: str
    n: int = 1
    on_credit: bool = False


class NewLevel(Frozen):
    """A change of level: the median before, the one after, and whether that is worse. The run is
    the first one at the new level."""

    at: str
    trial_id: str
    run_id: str
    step: str
    direction: str
    metric: Metric
    before: float
    after: float
    change: float
    worse: bool

    @property
    def words(self) -> str:
        """`rand-read-4k read`."""
        return self.step if self.step == self.direction else f"{self.step} {self.direction}"


class SiteRunLine(Frozen):
    """One run in a table. `at` is empty where the time of measurement is not known. `trust` and
    `limiter` are of its verdicts: the worst, and what the most steps ran into; None and empty where
    there is no verdict. `on_credit` are the steps that ended before the disk's burst credit did,
    `lasting` those that reached the level behind it. `usd_a_month` is the price of its disk when it
    was measured (None: not known). `ratio` is the least of its steps that asked for all of the
    promise (None: no step did), `designed` the share of the time for which the disk is designed to
    keep it."""

    run_id: str
    trial_id: str
    key: str
    at: str
    state: str
    provider: str
    region: str = ""
    disk: str = ""
    machine: str = ""
    profile: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    marks: tuple[str, ...] = ()
    trust: Trust | None = None
    limiter: str = ""
    on_credit: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()
    read: Best | None = None
    write: Best | None = None
    usd_a_month: float | None = None
    ratio: float | None = None
    designed: float | None = None


class ConfigurationLine(Configured):
    """One configuration in a table: figures are medians over the machines of its present level.

    `rest` are fields of its subject that have no column. `followed`: it was measured often enough
    for a change to be found. `trust` is the worst of its runs' verdicts, `doubted` how many runs
    have it where it is not yes. `usd_a_month` is the price of its disk at the newest measurement
    (None: not known).
    """

    target: str = ""
    rest: tuple[tuple[str, str], ...] = ()
    runs: int
    read: Best | None = None
    write: Best | None = None
    trust: Trust | None = None
    doubted: int = 0
    followed: bool = False
    levels: tuple[NewLevel, ...] = ()
    usd_a_month: float | None = None

    @property
    def most(self) -> tuple[str, Best] | None:
        """The direction with the most lasting IOPS, and those IOPS; None where none are known."""
        both = (("read", self.read), ("write", self.write))
        known = [(name, best) for name, best in both if best is not None and not best.on_credit]
        return max(known, key=lambda pair: pair[1].value, default=None)

    @property
    def usd_per_1000_iops(self) -> float | None:
        """The monthly price over 1,000 of the lasting IOPS in the faster direction, in US dollars;
        None where price or IOPS are not known."""
        if self.most is None or not self.usd_a_month or not self.most[1].value:
            return None
        return self.usd_a_month / self.most[1].value * 1000
