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

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.analysis.believe import MOSTLY, believe, in_order, reasons_of
from diskbench.analysis.caches import impossible, too_fast
from diskbench.analysis.limiter import limiter
from diskbench.analysis.setting import Setting, Stretch, is_above, rate
from diskbench.analysis.stretches import Measured, StepPromise, stretches_of
from diskbench.model.phase import MOST_STALLED
from diskbench.model.verdict import Judged, Promised, Reason, Verdict, believe_words
from diskbench.units import format_duration_s, format_iops, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.model.result import Warning  # noqa: A004 - the field's word

BY_OWNER = "--promise"
_BELOW = 0.9
_MOST_OF = 0.9
"""A bucket that holds for less than a tenth of a step which was not cut is used up in it."""


def verdict(
    measured: Measured,
    setting: Setting,
    promise: StepPromise | None = None,
    warnings: Sequence[Warning] = (),
    reasons: Sequence[Reason] = (),
) -> Verdict:
    """The verdict on a step; `warnings` are the doubts of the step that its files give, `reasons`
    what else is known to stand against it."""
    if promise is not None:
        by_owner = promise.source == BY_OWNER
        setting = replace(setting, credit=promise.credit, knows_buckets=not by_owner)
    stretches, main = stretches_of(measured, promise)
    judged = tuple(_judged(one, setting, promise) for one in stretches)
    told = in_order(
        (
            *_impossible(stretches, setting),
            *reasons,
            *_stalled(measured),
            *reasons_of(
                warnings,
                limited_by=judged[main].limiter.name,
                device_share=setting.device_share,
                processor=setting.processor,
            ),
            *_cached(stretches[main], judged[main], setting, warnings),
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


def _judged(one: Stretch, setting: Setting, promise: StepPromise | None) -> Judged:
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


def _regime(
    stretches: Sequence[Stretch], judged: Sequence[Judged], promise: StepPromise | None, main: int
) -> list[Reason]:
    """Which of burst and baseline was seen, where that is not both."""
    expected = promise.expected if promise else None
    if expected is not None and stretches[main].is_mixed:
        return [
            Reason(
                code="mixed",
                weight="doubtful",
                message=f"a mean of burst and baseline: its credit lasts "
                f"{format_duration_s(expected.lasts_s or 0.0)} at full load, and then "
                f"{format_iops(expected.lasting.iops)} IOPS are left",
                advice="import the logs of the seconds beside it: they show both levels",
            )
        ]
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


def _stalled(measured: Measured) -> Sequence[Reason]:
    """The doubt in a figure in which more than a few seconds stand for nothing."""
    course = measured.phases
    if course is None or course.stalled_s <= MOST_STALLED * course.seconds:
        return ()
    share = course.stalled_s / course.seconds
    return (
        Reason(
            code="stalled",
            weight="doubtful",
            message=f"it stalled in {course.stalled_s:,.0f} of {course.seconds:,.0f} s "
            f"({share:.1%}): the figure is the mean of all its seconds, and none of them was like "
            "it",
            advice="look at its seconds (diskbench report, results show --plot) and at the "
            "machine's log for that time, and measure it again",
        ),
    )


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


def _cached(
    one: Stretch, judged: Judged, setting: Setting, warnings: Sequence[Warning]
) -> Sequence[Reason]:
    """The doubt in a figure that the page cache set the pace of, where no warning told it."""
    known = any(one.code == "page-cache" for one in warnings)
    if judged.limiter.name != "page-cache" or setting.keeps_cache or known:
        return ()
    if setting.medium is not None:
        return ()  # said already: faster than its kind can be
    share = setting.device_share
    is_sure = bool(too_fast(one, setting)) or (share is not None and share < MOSTLY)
    return (
        Reason(
            code="page-cache",
            weight="no" if is_sure else "doubtful",
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
