"""The verdict on one step: what was promised, measured, in the way, and whether to believe it.

    promised   what the credit left at the step's beginning gives; once it is used up, what lasts
    ratio      measured / promised, in blocks a second
    main       the stretch that the step's figure is of: the last baseline, else the longest level

Credit is used up in a stretch that comes after a burst or a cliff, or where no more than 2 % of it
was left when the step began. No mean spans a cliff (MR-3): a step that has one is judged phase by
phase. A rate above 1.1 times the most favourable promise is `above-promise`, which is no proof of a
cache: disks have been seen to give ten times what is written of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from diskbench.analysis.believe import MOSTLY, believe, in_order, reasons_of
from diskbench.analysis.limiter import (
    ABOVE,
    EMPTY,
    Setting,
    Stretch,
    impossible,
    is_above,
    limiter,
    rate,
)
from diskbench.model.verdict import Judged, Promised, Reason, Verdict, believe_words
from diskbench.units import format_duration_s, format_iops, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.analysis.run_course import Course
    from diskbench.model.expectation import Expectation, Level, LimitName
    from diskbench.model.phase import PhaseKind, StepPhases
    from diskbench.model.result import Warning  # noqa: A004 - the field's word

BY_OWNER = "--promise"
_LEVELS = frozenset({"burst", "baseline", "level"})
_BELOW = 0.9
_MOST_OF = 0.9
"""A bucket that holds for less than a tenth of a step which was not cut is used up in it."""


@dataclass(frozen=True)
class Measured:
    """One step as it was measured, all directions together: its rate over its own run time, or of
    one in rounds the median of the last five. None where only its log is known. `course` is the
    level over the runs of its trial that it is part of."""

    step_index: int
    step: str
    iops: float | None
    bytes_per_s: float | None
    seconds: float
    run_id: str = ""
    rounds: int | None = None
    phases: StepPhases | None = None
    course: Course | None = None


@dataclass(frozen=True)
class Promise:
    """What the step should get, where that stands, and what was left of each bucket when it began,
    as a fraction. `is_guess`: of a disk that was there before, whose credit nobody knew; then a
    step at the rate that lasts had none."""

    expected: Expectation
    source: str = "catalogue"
    credit: Mapping[LimitName, float] = field(default_factory=dict)
    is_guess: bool = False


def verdict(
    measured: Measured,
    setting: Setting,
    promise: Promise | None = None,
    warnings: Sequence[Warning] = (),
    reasons: Sequence[Reason] = (),
) -> Verdict:
    """The verdict on a step; `warnings` are the doubts of the step that its files give, `reasons`
    what else is known to stand against it."""
    if promise is not None:
        by_owner = promise.source == BY_OWNER
        setting = replace(setting, credit=promise.credit, knows_buckets=not by_owner)
    stretches = _stretches(measured, promise)
    judged = tuple(_judged(one, setting, promise) for one in stretches)
    main = _main(judged)
    told = in_order(
        (
            *_impossible(stretches, setting),
            *reasons,
            *reasons_of(
                warnings,
                limited_by=judged[main].limiter.name,
                device_share=setting.device_share,
                client=setting.client,
            ),
            *_cached(judged[main], setting, warnings),
            *_regime(stretches, judged, promise, main),
            *_beside_promise(stretches[main], setting, judged[main]),
        )
    )
    found = Verdict(
        run_id=measured.run_id,
        step_index=measured.step_index,
        step=measured.step,
        rounds=measured.rounds,
        stretches=judged,
        main=main,
        believe=believe(told),
        reasons=told,
    )
    return found.model_copy(update={"sentence": sentence(found)})


def sentence(found: Verdict) -> str:
    """All of a verdict in one sentence a stretch, and whether to believe it."""
    told = [_of_stretch(one) for one in found.stretches]
    return (
        f"{found.step}: {'; '.join(told)}. Believe: {believe_words(found.believe, found.reasons)}"
    )


def figure_words(iops: float | None, bytes_per_s: float | None) -> str:
    """`3,000 IOPS`, or `98.0 MB/s` of what has no others."""
    if iops is not None:
        return f"{format_iops(iops)} IOPS"
    return f"{format_mb_per_s(bytes_per_s)} MB/s" if bytes_per_s is not None else "nothing"


def _of_stretch(one: Judged) -> str:
    where = f" ({one.kind})" if one.kind in ("burst", "baseline") else ""
    beside = ""
    if one.ratio is not None and one.promised is not None:
        beside = f", {one.ratio:.0%} of the {format_iops(one.promised.iops)} promised"
    by = "limit unknown" if one.limiter.name == "unknown" else f"limited by {one.limiter.words()}"
    return f"{figure_words(one.iops, one.bytes_per_s)}{where}{beside}, {by}"


def _stretches(measured: Measured, promise: Promise | None) -> list[Stretch]:
    phases = measured.phases
    kept = [one for one in phases.phases if one.kind in _LEVELS] if phases else []
    if phases is None or (len(kept) < 2 and not phases.cliffs):
        if measured.iops is None and measured.bytes_per_s is None and phases is not None:
            longest = max(kept or phases.phases, key=lambda one: one.seconds, default=None)
            if longest is not None:
                measured = replace(measured, iops=longest.iops, bytes_per_s=longest.bytes_per_s)
        return [_whole(measured, promise, kept[0].kind if len(kept) == 1 else None)]
    falls = {cliff.at_s: cliff for cliff in phases.cliffs}
    found: list[Stretch] = []
    above = _is_empty(promise)
    for one in kept or phases.phases:
        cliff = falls.get(one.start_s)
        known = above or (cliff is not None and one.kind != "burst")
        used_up = known or _lasts(one.iops, one.bytes_per_s, promise)
        found.append(
            Stretch(
                iops=one.iops,
                bytes_per_s=one.bytes_per_s,
                kind=one.kind,
                start_s=one.start_s,
                end_s=one.end_s,
                fell_from=cliff.before if cliff and one.kind != "burst" else None,
                credits=cliff.credits if cliff else None,
                level=_level(promise, used_up=used_up),
                used_up=used_up,
                is_guess=not known,
            )
        )
        above = above or one.kind == "burst"
    return found


def _whole(measured: Measured, promise: Promise | None, kind: PhaseKind | None) -> Stretch:
    """The step as one stretch; what a promise tells of its kind where nobody cut it."""
    expected = promise.expected if promise else None
    lasting = expected.lasting if expected else None
    course = measured.course
    known = _is_empty(promise) or (course is not None and course.kind == "baseline")
    used_up = known or _lasts(measured.iops, measured.bytes_per_s, promise)
    iops, moved = measured.iops, measured.bytes_per_s
    if iops is None and moved is not None and expected is not None:
        iops = moved / expected.load.block_bytes
    if lasting is not None and expected is not None and iops is not None and lasting.limited_by:
        low = iops <= ABOVE * lasting.high_iops
        lasts = expected.lasts_s
        if expected.bursts and low and lasts and lasts < (1 - _MOST_OF) * measured.seconds:
            used_up = known = True
        if kind is None and (promise is not None and promise.credit):
            kind = "burst" if expected.bursts and not low else None
            kind = "baseline" if low and (used_up or not expected.bursts) else kind
    if kind in (None, "level") and course is not None and course.kind != "level":
        kind = course.kind
    return Stretch(
        iops=measured.iops,
        bytes_per_s=measured.bytes_per_s,
        kind=kind,
        fell_from=course.fell_from if course else None,
        level=_level(promise, used_up=used_up),
        used_up=used_up,
        is_guess=not known,
    )


def _lasts(iops: float | None, bytes_per_s: float | None, promise: Promise | None) -> bool:
    """Whether it goes at the rate that lasts, on a disk of whose credit nobody knew."""
    if promise is None or not promise.is_guess or not promise.credit:
        return False
    lasting = promise.expected.lasting
    if iops is None and bytes_per_s is not None:
        iops = bytes_per_s / promise.expected.load.block_bytes
    return iops is not None and lasting.limited_by is not None and iops <= ABOVE * lasting.high_iops


def _is_empty(promise: Promise | None) -> bool:
    """Whether the bucket of what limits it was empty when the step began."""
    if promise is None or promise.expected.lasting.limited_by is None:
        return False
    return promise.credit.get(promise.expected.lasting.limited_by, 1.0) <= EMPTY


def _level(promise: Promise | None, *, used_up: bool) -> Level | None:
    if promise is None:
        return None
    return promise.expected.lasting if used_up else promise.expected.begin


def _judged(one: Stretch, setting: Setting, promise: Promise | None) -> Judged:
    told, measured = None, rate(one, setting)
    if promise is not None and one.level is not None and one.level.limited_by is not None:
        told = Promised(
            iops=one.level.iops,
            low_iops=one.level.low_iops,
            high_iops=one.level.high_iops,
            bytes_per_s=one.level.bytes_per_s,
            limited_by=one.level.limited_by,
            source=promise.source,
        )
    return Judged(
        kind=one.kind,
        start_s=one.start_s,
        end_s=one.end_s,
        iops=one.iops,
        bytes_per_s=one.bytes_per_s,
        promised=told,
        ratio=measured / told.iops if told and measured is not None and told.iops > 0 else None,
        limiter=limiter(one, setting),
    )


def _main(judged: Sequence[Judged]) -> int:
    baselines = [at for at, one in enumerate(judged) if one.kind == "baseline"]
    if baselines:
        return baselines[-1]
    return max(range(len(judged)), key=lambda at: _seconds(judged[at]))


def _seconds(one: Judged) -> float:
    return (one.end_s or 0.0) - (one.start_s or 0.0)


def _regime(
    stretches: Sequence[Stretch], judged: Sequence[Judged], promise: Promise | None, main: int
) -> list[Reason]:
    """Which of burst and baseline was seen, where that is not both."""
    expected = promise.expected if promise else None
    if expected is None or not expected.bursts or any(one.used_up for one in stretches):
        return []
    if judged[main].kind != "burst":
        return []
    lasts = f" for {format_duration_s(expected.lasts_s)}" if expected.lasts_s else ""
    return [
        Reason(
            code="burst-only",
            weight="note",
            message=f"burst only: the credit left gives {format_iops(expected.begin.iops)} IOPS"
            f"{lasts} at full load; the baseline, {format_iops(expected.lasting.iops)} IOPS, was "
            "not reached",
            advice="--profile sustained runs until the credit is gone",
        )
    ]


def _impossible(stretches: Sequence[Stretch], setting: Setting) -> list[Reason]:
    told = next((text for one in stretches if (text := impossible(one, setting))), "")
    if not told:
        return []
    return [
        Reason(
            code="served-from-cache",
            weight="no",
            message=f"{told}: a cache answered for it",
            advice="use direct=1, files of twice the memory, and no cache of a controller",
        )
    ]


def _cached(judged: Judged, setting: Setting, warnings: Sequence[Warning]) -> Sequence[Reason]:
    """The doubt in a figure that the page cache set the pace of, where no warning told it."""
    known = any(one.code == "page-cache" for one in warnings)
    if judged.limiter.name != "page-cache" or setting.keeps_cache or known:
        return ()
    if setting.medium is not None:
        return ()  # said already: faster than its kind can be
    share = setting.device_share
    return (
        Reason(
            code="page-cache",
            weight="no" if share is not None and share < MOSTLY else "doubtful",
            message="; ".join(judged.limiter.evidence),
            advice="use direct=1, files of twice the memory, or (writes) end_fsync=1",
        ),
    )


def _beside_promise(one: Stretch, setting: Setting, judged: Judged) -> list[Reason]:
    if judged.promised is None or judged.ratio is None:
        return []
    if is_above(one, setting):
        return [
            Reason(
                code="above-promise",
                weight="note",
                message=f"above the promise: {judged.ratio:.2g} times "
                f"{format_iops(judged.promised.iops)} IOPS. That alone is no proof of a cache",
            )
        ]
    if judged.limiter.name == "unknown" and judged.ratio < _BELOW:
        return [
            Reason(
                code="below-promise",
                weight="note",
                message=f"{judged.ratio:.0%} of the promise, and what stood in the way was not "
                "found",
                advice="repeat it on a new machine with a new disk: --replicates 3",
            )
        ]
    return []
