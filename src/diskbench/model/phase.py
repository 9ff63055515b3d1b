"""What a step did second by second, cut into phases, and whether it was steady (MR-2 to MR-4)."""

from typing import Literal

from diskbench.model.base import Frozen

PhaseKind = Literal["burst", "baseline", "level", "ramp", "stall"]
"""`burst` does not last; `baseline` lasts; at a `level` neither the seconds nor a promise say
which of the two it is; `ramp` has no level; in a `stall` next to nothing was done."""

SteadyState = Literal["steady", "not steady", "too short"]
MOST_STALLED = 0.02
"""Of a step's seconds: with more of them stalled its figure is doubted, and it is not steady."""


class Phase(Frozen):
    """Seconds of a step that belong together, from `start_s` up to `end_s`, on the series' clock.

    `iops` and `bytes_per_s` are the means of its seconds, those in which it stalled included; None
    where its log lacks them. `from_iops` and `to_iops` are where a ramp begins and ends. `cov` is
    how much means of ten seconds vary, as a fraction of their median (half the distance of the 10th
    and 90th percentile over 1.28); None for a ramp, a stall, and below two minutes.
    """

    kind: PhaseKind
    start_s: float
    end_s: float
    iops: float | None = None
    bytes_per_s: float | None = None
    from_iops: float | None = None
    to_iops: float | None = None
    cov: float | None = None

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


class Cliff(Frozen):
    """A sharp fall between two phases. `before` and `after` are their levels; `credits` is what was
    done above the level after it, since the step began: what a bucket held, if it was one. All are
    in the figure of the series: I/Os, or bytes where its log has no others."""

    at_s: float
    before: float
    after: float
    credits: float


class Stall(Frozen):
    """A second or more in which less than a tenth of the phase's median was done. `is_empty`:
    nothing was done at all."""

    start_s: float
    end_s: float
    is_empty: bool = True

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


class Steadiness(Frozen):
    """The verdict on the last five rounds of a step, each of `round_s` seconds, and its two
    figures, fractions of their mean (None where the step is too short). `kind` is the phase that
    the rounds lie in; None where they lie in several."""

    state: SteadyState
    kind: PhaseKind | None = None
    round_s: float | None = None
    excursion: float | None = None
    slope: float | None = None

    def words(self) -> str:
        """`steady (burst)` is not `steady (baseline)`; a bare `steady` leaves open which."""
        rounds = f"five rounds of {self.round_s:g} s" if self.round_s else "five rounds"
        if self.state == "too short":
            return f"too short for {rounds}, so not judged"
        if self.state == "not steady":
            return self.state if self.kind else f"not steady (its last {rounds} span phases)"
        return f"steady ({self.kind})" if self.kind in ("burst", "baseline") else "steady"


class Drifted(Frozen):
    """A rate that moved slowly, without a level: the medians of the first and the last fifth."""

    first: float
    last: float


class Dips(Frozen):
    """Seconds far below the `usual` rate, in the median at `to`, that come every `every_s` and take
    a `share` of the time."""

    every_s: float
    share: float
    to: float
    usual: float


class TwoModes(Frozen):
    """Two rates between which a series goes, with nothing between them; `low_share` is the share of
    the time at the lower."""

    high: float
    low: float
    low_share: float


class KeptSeconds(Frozen):
    """Of `of` seconds `kept` reached `rate`; as many as `independent` of them vary for themselves,
    and the longest spell below it lasted `worst_s`."""

    rate: float
    of: int
    kept: int
    independent: float
    worst_s: int


class StepPhases(Frozen):
    """The course of one step, all directions together; of one that is repeated, its `rounds` after
    each other, and then `step_index` is that of the first.

    `figure` is what was cut into phases, and of what `drifted`, `dips` and `modes` are. `kept`
    is of nine tenths of the promise, where it was known.
    `shortest_s` is the shortest phase that could be found.
    """

    run_id: str = ""
    step_index: int = 0
    step: str = ""
    rounds: int | None = None
    figure: Literal["iops", "bytes_per_s"] = "iops"
    seconds: float
    shortest_s: float
    phases: tuple[Phase, ...]
    cliffs: tuple[Cliff, ...] = ()
    stalls: tuple[Stall, ...] = ()
    steady: Steadiness
    drifted: Drifted | None = None
    dips: Dips | None = None
    modes: TwoModes | None = None
    kept: KeptSeconds | None = None

    @property
    def spans_cliff(self) -> bool:
        """Whether a mean over the step would describe neither level (MR-3). Of one that is repeated
        only the last rounds make the figure."""
        return bool(self.cliffs) and not (self.rounds and self.steady.kind)

    @property
    def stalled_s(self) -> float:
        """Seconds in which it stalled, together."""
        return sum(stall.seconds for stall in self.stalls)
