"""A step as separately judged stretches, each with its promise (MR-3; docs/METHOD.md, "Verdict").

A stretch is a phase at one level, or the whole step if it was not cut. Burst or not is the nearer
level: above the geometric mean of both promises it is a burst, and is compared with the burst's
promise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from diskbench.analysis.changes import LEAST_CHANGE
from diskbench.analysis.figure import Figure, figure_of, levels_of
from diskbench.analysis.run_course import SeriesPart
from diskbench.analysis.setting import ABOVE, Stretch
from diskbench.model.expectation import NOT_CAPS, Expectation, ExpectedLevel, LimitName
from diskbench.model.phase import Phase, PhaseKind, StepPhases

_FULL = 0.98
_LITTLE = 0.5
"""Of a bucket: with more in it, the end of its credit is looked for in the step's seconds."""
_DEEP = 0.5
"""A fall to half, beside which a smaller one in the same step is of the same kind."""
_NEAR_BURST = 0.05
_NEAR_MEAN = 0.1
_MOST_OF = 0.9
"""A bucket that holds for less than a tenth of a step which was not cut is used up in it."""


@dataclass(frozen=True)
class Measured:
    """A measured step, all directions together: its rate over its own run time, or for a step in
    rounds the middle of the last five. None if only its log is known. `course` is the level that
    its run belongs to over the runs of its trial, `cov` how much the figures of five or more runs
    at one level vary."""

    step_index: int
    step: str
    iops: float | None
    bytes_per_s: float | None
    seconds: float
    run_id: str = ""
    rounds: int | None = None
    phases: StepPhases | None = None
    course: SeriesPart | None = None
    cov: float | None = None


@dataclass(frozen=True)
class StepPromise:
    """What the step should get, where that stands, and what was left of each bucket when it began,
    as a fraction. `is_guess`: the disk existed before, and its credit was unknown; then a
    step at the rate that lasts had none. `chosen` says which of the dated limits these are, and why
    (empty where there is one version). `designed` is the share of the time that the disk is made to
    keep it. `unknown` names limits that it leaves out."""

    expected: Expectation
    source: str = "catalogue"
    credit: Mapping[LimitName, float] = field(default_factory=dict)
    is_guess: bool = False
    chosen: str = ""
    designed: float | None = None
    unknown: str = ""

    def is_near(self, iops: float) -> bool:
        """Whether a rate lies within 10 % of what is promised, with credit or without."""
        levels = (self.expected.begin, self.expected.lasting)
        bounds = [level.bounds[0].iops for level in levels if level.bounds]
        return any(abs(iops / bound - 1) <= _NEAR_MEAN for bound in bounds)

    @property
    def foreseen(self) -> Expectation:
        """What is expected; how long it lasts is left out where less than all credit was there."""
        if min(self.credit.values(), default=1.0) > _FULL:
            return self.expected
        return self.expected.model_copy(update={"lasts_s": None})


def stretches_of(measured: Measured, promise: StepPromise | None) -> tuple[list[Stretch], int]:
    """Return the stretches of a step in order of time, at least one, and the index of the one that
    gives its figure (analysis/figure.py)."""
    phases = measured.phases
    figure = figure_of([Figure(measured.iops, measured.bytes_per_s)], phases)
    levels = levels_of(phases) if phases is not None else ()
    if phases is None or figure is None or len(levels) < 2:
        if figure is not None:
            measured = replace(measured, iops=figure.iops, bytes_per_s=figure.bytes_per_s)
        step = _whole(measured, promise, figure.kind if figure else None)
        start_s, end_s = 0.0, measured.seconds
        if figure is not None and figure.level is not None:
            start_s, end_s = figure.level.start_s, figure.level.end_s
            step = replace(step, start_s=start_s, end_s=end_s)
        cov = measured.cov if measured.cov is not None else _cov(phases, start_s, end_s)
        return [replace(step, cov=cov, stalled=_stalled(phases, start_s, end_s))], 0
    falls = {cliff.at_s: cliff for cliff in phases.cliffs}
    stretches: list[Stretch] = []
    main = next(at for at, level in enumerate(levels) if level == figure.level)
    above = _is_empty(promise, measured.seconds)
    bursts = promise is not None and promise.expected.bursts
    for at, level in enumerate(levels):
        # A dip that recovers shows no credit; a bucket that refilled is shown by the burst after
        # it.
        following = [level]
        for later in levels[at + 1 :]:
            if later.start_s > following[-1].end_s:
                break  # a pause, in which a bucket refills
            following.append(later)
        lasts = not any(_rises_to(level, later) for later in following[1:])
        cliff = falls.get(level.start_s) if lasts or level.kind != "level" else None
        if stretches and level.kind == "burst" and _rises(stretches[-1], level):
            above = False  # the bucket refilled during a pause
        known = above or (cliff is not None and level.kind != "burst")
        is_main = len(stretches) == main
        iops = figure.iops if is_main else level.iops
        moved = figure.bytes_per_s if is_main else level.bytes_per_s
        between = _between(level, promise) if above else None
        is_burst = level.kind == "burst" and bursts and between is None
        used_up = (known or _lasts(iops, moved, promise)) and not is_burst
        stretches.append(
            Stretch(
                iops=iops, bytes_per_s=moved, kind=level.kind, start_s=level.start_s,
                end_s=level.end_s, fell_from=cliff.before if cliff else None,
                credits=cliff.credits if cliff else None,
                level=between or _level(promise, used_up=used_up), used_up=used_up,
                is_guess=not known, lasts=lasts or bursts,
                is_joint=any(fall.after <= _DEEP * fall.before for fall in phases.cliffs),
                cov=_cov(phases, level.start_s, level.end_s),
                stalled=_stalled(phases, level.start_s, level.end_s),
            )
        )  # fmt: skip
        above = above or level.kind == "burst"
    return stretches, main


def _cov(phases: StepPhases | None, start_s: float, end_s: float) -> float | None:
    """Return how much the rate varies within a stretch; None if a phase in it has no variation, or
    if the step goes between two rates."""
    if phases is not None and phases.modes is not None:
        return None
    inside = [
        phase.cov
        for phase in (phases.phases if phases else ())
        if phase.start_s >= start_s and phase.end_s <= end_s and phase.kind != "stall"
    ]
    known = [cov for cov in inside if cov is not None]
    return max(known) if known and len(known) == len(inside) else None


def _stalled(phases: StepPhases | None, start_s: float, end_s: float) -> float:
    """Return the share of the seconds from `start_s` to `end_s` that stalls fill."""
    if phases is None or end_s <= start_s:
        return 0.0
    stalled_s = sum(max(0.0, min(s.end_s, end_s) - max(s.start_s, start_s)) for s in phases.stalls)
    return stalled_s / (end_s - start_s)


def _rises_to(before: Phase, now: Phase) -> bool:
    """Whether a later level is a fifth higher."""
    pairs = ((before.iops, now.iops), (before.bytes_per_s, now.bytes_per_s))
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return bool(known) and known[0][0] <= (1 - LEAST_CHANGE) * known[0][1]


def _rises(before: Stretch, now: Phase) -> bool:
    if before.iops is not None and now.iops is not None:
        return now.iops > ABOVE * before.iops
    return (now.bytes_per_s or 0.0) > ABOVE * (before.bytes_per_s or 0.0)


def _whole(measured: Measured, promise: StepPromise | None, kind: PhaseKind | None) -> Stretch:
    """Return the step as one stretch; if it was not cut, its kind follows from the promise."""
    expected = promise.expected if promise else None
    lasting = expected.lasting if expected else None
    course = measured.course
    is_baseline = course is not None and course.kind == "baseline"
    known = _is_empty(promise, measured.seconds) or is_baseline
    is_odd = (
        course is not None
        and measured.iops is not None
        and measured.iops <= (1 - LEAST_CHANGE) * course.level
    )
    used_up = known or (not is_odd and _lasts(measured.iops, measured.bytes_per_s, promise))
    iops, moved = measured.iops, measured.bytes_per_s
    if iops is None and moved is not None and expected is not None:
        iops = moved / expected.load.block_bytes
    if lasting is not None and expected is not None and iops is not None and lasting.limited_by:
        low = _is_lasting(iops, expected)
        lasts = expected.lasts_s
        if expected.bursts and low and lasts and lasts < (1 - _MOST_OF) * measured.seconds:
            used_up = known = True
        mixed = _mixed(measured, expected, iops)
        if mixed is not None:
            kind = "baseline" if is_baseline else None
            return Stretch(
                measured.iops, measured.bytes_per_s, kind, level=mixed, used_up=True, is_mixed=True
            )
        if kind in (None, "level") and promise is not None and promise.credit:
            kind = "burst" if expected.bursts and not low else kind
            kind = "baseline" if low and (used_up or not expected.bursts) else kind
    if is_odd and not known:
        kind = "burst" if expected is not None and expected.bursts else None
    if course is not None and course.kind != "level":
        kind = course.kind  # the level that the run belongs to, rather than a chance deviation
    return Stretch(
        iops=measured.iops, bytes_per_s=measured.bytes_per_s, kind=kind,
        fell_from=course.fell_from if course else None,
        is_joint=course is not None and course.is_joint,
        level=_level(promise, used_up=used_up), used_up=used_up, is_guess=not known,
    )  # fmt: skip


def _mixed(measured: Measured, expected: Expectation, iops: float) -> ExpectedLevel | None:
    """Return the expected mean of a step whose credit runs out within it, if the measured mean
    agrees: the mean of the burst while credit lasts and the lasting rate after it. How
    much of the little that a bucket regained while idle was left is unknown: any rate up to that
    mean agrees."""
    lasts, lasting, course = expected.lasts_s, expected.lasting, measured.phases
    if not expected.bursts or not lasts or not lasting.bounds or lasts >= measured.seconds:
        return None
    is_small = expected.lasting.iops > (1 - LEAST_CHANGE) * expected.begin.iops
    if course is not None and course.phases and lasts >= course.shortest_s and not is_small:
        return None  # its seconds show both levels
    share = lasts / measured.seconds
    mean = share * expected.begin.iops + (1 - share) * lasting.iops
    most_lasting = expected.lasting_up_to if is_small else ABOVE * lasting.high_iops
    if iops <= most_lasting or iops > (1 + _NEAR_MEAN) * mean:
        return None
    if iops < (1 - _NEAR_MEAN) * mean:
        if share > 1 - _MOST_OF:
            return None
        mean = iops
    tightest = lasting.bounds[0].model_copy(update={"iops": mean})
    bounds = (tightest, *lasting.bounds[1:])
    return _at(lasting, mean, expected).model_copy(update={"bounds": bounds})


def _at(level: ExpectedLevel, iops: float, expected: Expectation) -> ExpectedLevel:
    """Return a level with another rate."""
    rates = dict.fromkeys(("iops", "low_iops", "high_iops"), iops)
    moved = iops * expected.load.block_bytes
    return level.model_copy(update={**rates, "bytes_per_s": moved})


def _between(measured: Phase, promise: StepPromise | None) -> ExpectedLevel | None:
    """Return the level when one of two buckets is empty and the other is not: the next limit, if
    the rate agrees with it."""
    level = promise.expected.lasting if promise else None
    rate = measured.iops
    if level is None or promise is None or level.limited_by is None:
        return None
    if rate is None:
        rate = (measured.bytes_per_s or 0.0) / promise.expected.load.block_bytes
    if rate <= ABOVE * level.high_iops:
        return None
    for bound in level.bounds:
        near = abs(rate / bound.iops - 1) <= _NEAR_MEAN
        if near and bound.limit not in (level.limited_by, *NOT_CAPS):
            above = tuple(b for b in level.bounds if b.iops >= bound.iops)
            return _at(level, bound.iops, promise.expected).model_copy(
                update={"limited_by": bound.limit, "bounds": above}
            )
    return None


def _lasts(iops: float | None, bytes_per_s: float | None, promise: StepPromise | None) -> bool:
    """Whether the rate is the lasting one, on a disk with unknown initial credit."""
    if promise is None or not promise.is_guess or not promise.credit:
        return False
    expected = promise.expected
    if iops is None and bytes_per_s is not None:
        iops = bytes_per_s / expected.load.block_bytes
    known = expected.lasting.limited_by is not None
    return iops is not None and known and _is_lasting(iops, expected)


def _is_lasting(iops: float, expected: Expectation) -> bool:
    """Whether a rate is one that lasts. Requests that the cloud may have merged explain one that is
    at the burst's less well than the burst does."""
    is_burst = abs(iops / expected.begin.iops - 1) <= _NEAR_BURST if expected.begin.iops else False
    is_merged = iops > ABOVE * expected.lasting.iops
    return iops <= expected.lasting_up_to and not (is_burst and is_merged)


def _is_empty(promise: StepPromise | None, seconds: float) -> bool:
    """Whether the bucket of the limiting gate was empty when the step began, or has so little that
    it is gone within a tenth of the step."""
    if promise is None or promise.expected.lasting.limited_by is None:
        return False
    tokens = promise.credit.get(promise.expected.lasting.limited_by)
    if tokens is None:
        return False
    lasts = promise.expected.lasts_s
    is_short = lasts is not None and seconds > 0 and lasts < (1 - _MOST_OF) * seconds
    return tokens <= 0 or (is_short and tokens < _LITTLE)


def _level(promise: StepPromise | None, *, used_up: bool) -> ExpectedLevel | None:
    if promise is None:
        return None
    return promise.expected.lasting if used_up else promise.expected.begin
