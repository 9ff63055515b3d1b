"""What a step was promised, what it gave, what stood in the way, and whether to trust it."""

from collections.abc import Sequence
from typing import Literal

from diskbench.model.base import Frozen
from diskbench.model.comparison import Interval, Replicated
from diskbench.model.doubts import Reason, doubt_words
from diskbench.model.expectation import LIMIT_WORDS, LimitName
from diskbench.model.phase import PhaseKind

Trust = Literal["yes", "with care", "no"]
LimiterName = (
    LimitName
    | Literal[
        "credit", "client", "other-process", "interrupts", "steal", "queue-depth", "page-cache",
        "host-cache", "network", "fixed-limit", "unknown",
    ]
)  # fmt: skip
"""What set the pace. A limit of the catalogue by its name (`disk-iops`, `vm-throughput` …) where
the measured rate lies at it; `credit`: at the rate that a used-up burst bucket leaves; `client`:
fio itself used a core up; `other-process`, `interrupts`, `steal`: something else on its machine did
(model/processor.py); `queue-depth`: latency times a depth that could be larger; `fixed-limit`: a
level that does not vary, which is not documented."""

LIMITER_WORDS: dict[LimiterName, str] = {
    **{limit: words for limit, words in LIMIT_WORDS.items()},  # noqa: C416 - a dict's key type
    "credit": "burst credit used up",
    "client": "CPU of the load generator",
    "other-process": "another process on the load generator's machine",
    "interrupts": "interrupts on one core of the load generator's machine",
    "steal": "CPU time stolen by the hypervisor",
    "queue-depth": "latency at this queue depth",
    "page-cache": "page cache of the machine",
    "host-cache": "cache below the machine",
    "network": "network",
    "fixed-limit": "a fixed, undocumented limit",
    "unknown": "unknown",
}


CONFIRMED = "confirmed by the volume's own counters"
"""How a clause of `Limiter.evidence` begins that says what the cloud counted."""


class Limiter(Frozen):
    """What set the pace, and the figures that show it, each a clause with its numbers."""

    name: LimiterName
    evidence: tuple[str, ...] = ()

    @property
    def is_unexplained(self) -> bool:
        """Whether a better known limiter may take its place."""
        return self.name in {"unknown", "fixed-limit"}

    def words(self) -> str:
        """`disk IOPS`, as a person calls it."""
        return LIMITER_WORDS[self.name]

    def confirmed(self) -> str:
        """What the cloud's own counters say for it; empty where they were not read."""
        return next((text for text in self.evidence if text.startswith(CONFIRMED)), "")


class Promised(Frozen):
    """What was promised for a stretch of a step, in blocks a second, from the credit left when the
    step began: the figure, and the plausible range of it. `source`: `catalogue` or `--promise`.
    `designed` is the share of the time that the disk is made to keep it; None: not documented."""

    iops: float
    low_iops: float
    high_iops: float
    bytes_per_s: float
    limited_by: LimitName | None
    source: str = "catalogue"
    designed: float | None = None


class Judged(Frozen):
    """One stretch of a step at one level: a phase, or the whole step where it was not cut (then
    `start_s` and `end_s` are None, and `kind` is what a promise says of it). No mean spans a cliff
    (MR-3).

    A rate is None where the log of an imported run lacks it. `ratio` is measured over
    promised; None without a promise.
    """

    kind: PhaseKind | None = None
    start_s: float | None = None
    end_s: float | None = None
    iops: float | None
    bytes_per_s: float | None
    promised: Promised | None = None
    ratio: float | None = None
    limiter: Limiter


def trust_words(trust: Trust, reasons: Sequence[Reason]) -> str:
    """The verdict with what made it so: the reasons of that weight."""
    reason_words = "" if trust == "yes" else doubt_words(reasons, trust)
    return f"{trust}: {reason_words}" if reason_words else trust


class Kept(Frozen):
    """For how much of the time a step kept its promise: `kept` of `of` seconds (or runs, as `unit`
    says) reached `at_least` of it. `low` and `high` are the 95 % interval of that share, `worst`
    the longest spell below. `designed` is the share of the time that the disk is designed for; None
    where nothing is documented."""

    unit: Literal["s", "runs"]
    of: int
    kept: int
    low: float
    high: float
    worst: int
    at_least: float = 0.9
    designed: float | None = None

    def words(self) -> str:
        """`99.3% of 3,600 s at 90% of the promise or more (98.9–99.6%); worst spell 12 s; designed
        for 99% of the time`."""
        share = 100 * self.kept / self.of if self.of else 0.0
        text = f"{share:.3g}% of {self.of:,} {self.unit} at {self.at_least:.0%} of the promise"
        text += f" or more ({100 * self.low:.3g}–{100 * self.high:.3g}%)"
        if self.worst:
            unit = "run" if self.unit == "runs" and self.worst == 1 else self.unit
            text += f"; worst spell {self.worst:,} {unit}"
        if self.designed is not None:
            text += f"; designed for {100 * self.designed:g}% of the time"
        return text


class Verdict(Frozen):
    """On one measured step of one run, all its directions together (of a repeated step, on its
    rounds together, and `step_index` is that of the first).

    `stretches` are in the order of time, at least one; `main` is the index of the one that the
    step's figure describes: the baseline where it was reached, else the longest level. `sentence`
    says all of it in words; `kept` is the share of its seconds, or of all runs, that kept the
    promise. Formulas and thresholds: docs/METHOD.md.
    """

    run_id: str = ""
    step_index: int
    step: str
    rounds: int | None = None
    stretches: tuple[Judged, ...]
    main: int = 0
    trust: Trust
    reasons: tuple[Reason, ...] = ()
    kept: Kept | None = None
    sentence: str = ""

    @property
    def stands_for(self) -> Judged:
        """The stretch that is the step's figure."""
        return self.stretches[self.main]

    def words(self) -> str:
        """`yes`, `no: served from cache`, `with care: CPU limit of the load generator`."""
        return trust_words(self.trust, self.reasons)


class RunLevel(Frozen):
    """Runs of a trial, one after the other, in which a step kept one level: `first` to `last`,
    counted from 1. `iops` and `bytes_per_s` are medians of theirs, `started_at` is when the first
    of them began."""

    kind: PhaseKind
    first: int
    last: int
    iops: float
    bytes_per_s: float
    started_at: str | None = None


class StepVerdict(Frozen):
    """On one step over all runs and replicates that measured it alike: the worst `trust` of them,
    the limiter that most of them name, the figures of the replicates (MR-5, MR-6), and their ratio
    to the promise with its interval (None below six replicates: `no interval`).

    `levels` is the course over the runs of a trial, where there are enough; with several,
    the figures are of the last one only, for no median spans a cliff (MR-3). `kind` is that of the
    level of all of them; None where it is unknown or they differ."""

    step: str
    trust: Trust
    limiter: Limiter
    replicated: Replicated
    ratio: float | None = None
    interval: Interval | None = None
    kind: PhaseKind | None = None
    levels: tuple[RunLevel, ...] = ()
    reasons: tuple[Reason, ...] = ()
    kept: Kept | None = None
    sentence: str = ""
