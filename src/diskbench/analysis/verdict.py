"""The verdict on one step: its promise, its rate, its limit, and whether to trust it
(docs/METHOD.md, "Verdict"). No mean spans a cliff (MR-3): a step with a cliff is judged phase by
phase."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from diskbench.analysis.caches import DEVICE_SHARE, LINKS, device_words, impossible, too_fast
from diskbench.analysis.caps import saved_tokens
from diskbench.analysis.changes import LEAST_CHANGE
from diskbench.analysis.counters import by_counters
from diskbench.analysis.limiter import limiter
from diskbench.analysis.setting import ABOVE, Setting, Stretch, is_above, rate, shown_rate
from diskbench.analysis.stalls import STALLED as STALLED_AT
from diskbench.analysis.stretches import Measured, StepPromise, stretches_of
from diskbench.analysis.time_share import share_of_seconds
from diskbench.analysis.trust import MOSTLY, in_order, reasons_of, trust
from diskbench.model import doubts
from diskbench.model.base import sharing_names
from diskbench.model.phase import MOST_STALLED, TwoModes
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.verdict import Judged, Kept, LimiterName, Promised, Verdict, trust_words
from diskbench.units import format_duration_s, format_iops, format_mb_per_s, in_large_blocks

BY_OWNER = "--promise"
_BELOW = 0.9
_TWICE = 2.0
_TEN = 9.95
_BY_CACHE: Mapping[LimiterName, str] = {
    "page-cache": "the rate of the cache, not of the disk",
    "host-cache": "the rate of the cache, not of the disk",
}
_LONG_S = 3600.0
"""A rate that did not fall for so long is no burst that would have to be outlasted; our choice."""
_NO_LEVEL = 0.5
"""From such a coefficient of variation of ten-second means on no level is kept; our choice."""


def verdict(
    measured: Measured,
    setting: Setting,
    promise: StepPromise | None = None,
    warnings: Sequence[Warning] = (),
    reasons: Sequence[doubts.Reason] = (),
) -> Verdict:
    """Return the verdict on a step. `warnings` are the doubts from the step's files, `reasons`
    further known doubts."""
    if promise is not None:
        by_owner = promise.source == BY_OWNER
        setting = replace(setting, credit=promise.credit, knows_buckets=not by_owner)
    stretches, main = stretches_of(measured, promise)
    judged = tuple(_judged(stretch, setting, promise) for stretch in stretches)
    counted_stretches = [by_counters(stretch, setting) for stretch in judged]
    judged = tuple(stretch for stretch, _ in counted_stretches)
    weighed = reasons_of(
        warnings, limited_by=judged[main].limiter.name, device_share=setting.device_share,
        processor=setting.processor,
    )  # fmt: skip
    why = next((text for stretch in stretches if (text := impossible(stretch, setting))), "")
    unknown = f"unknown, so left out of the promise: {promise.unknown if promise else ''}"
    ordered = in_order(
        (
            *((doubts.SERVED_FROM_CACHE.reason(f"{why}: a cache served it"),) if why else ()),
            *counted_stretches[main][1],
            *reasons,
            *_stalled(measured, stretches[main]),
            *changed(measured, stretches, main, promise),
            *_unsteady(measured, setting),
            *weighed,
            *_cached(stretches[main], judged[main], setting, warnings),
            *_regime(stretches, judged, promise, main, setting),
            *_beside_promise(stretches[main], setting, judged[main]),
            *beyond_its_credit(stretches[main], measured, promise),
            *((doubts.DATED.reason(promise.chosen),) if promise and promise.chosen else ()),
            *((doubts.MACHINE_UNKNOWN.reason(unknown),) if promise and promise.unknown else ()),
        )
    )
    result = Verdict(
        run_id=measured.run_id, step_index=measured.step_index, step=measured.step,
        rounds=measured.rounds, stretches=judged, main=main, trust=trust(ordered),
        reasons=ordered, kept=_kept(measured, promise),
    )  # fmt: skip
    return sharing_names(result.model_copy(update={"sentence": sentence(result)}))


def _kept(measured: Measured, promise: StepPromise | None) -> Kept | None:
    """Return for how many of its seconds a long step kept its promise, if both are known."""
    seconds = measured.phases.kept if measured.phases is not None else None
    if seconds is None or promise is None:
        return None
    return share_of_seconds(seconds, promise.designed)


def sentence(verdict_: Verdict) -> str:
    """Return a verdict as text: one clause per stretch, and whether to trust it."""
    parts = [_of_stretch(stretch) for stretch in verdict_.stretches]
    why = trust_words(verdict_.trust, verdict_.reasons)
    return f"{verdict_.step}: {'; '.join(parts)}. Trust: {why}"


def _of_stretch(judged: Judged) -> str:
    where = f" ({judged.kind})" if judged.kind in ("burst", "baseline") else ""
    beside = ""
    if judged.ratio is not None and judged.promised is not None:
        promised = figure_words(judged.promised.iops, judged.promised.bytes_per_s)
        beside = f", {judged.ratio:.0%} of the promised {promised}"
    is_known = judged.limiter.name != "unknown"
    by = f"limited by {judged.limiter.words()}" if is_known else "limit unknown"
    if told := judged.limiter.confirmed():
        by += f" ({told})"
    return f"{figure_words(judged.iops, judged.bytes_per_s)}{where}{beside}, {by}"


def _judged(stretch: Stretch, setting: Setting, promise: StepPromise | None) -> Judged:
    promised, measured = None, rate(stretch, setting)
    if promise is not None and stretch.level is not None and stretch.level.limited_by is not None:
        level = stretch.level
        promised = Promised(
            iops=level.iops, low_iops=level.low_iops, high_iops=level.high_iops,
            bytes_per_s=level.bytes_per_s, limited_by=stretch.level.limited_by,
            source=promise.source, designed=promise.designed,
        )  # fmt: skip
    judged = Judged(
        kind=stretch.kind,
        start_s=stretch.start_s,
        end_s=stretch.end_s,
        iops=stretch.iops,
        bytes_per_s=stretch.bytes_per_s,
        promised=promised,
        ratio=measured / promised.iops
        if promised and measured is not None and promised.iops > 0
        else None,
        limiter=limiter(stretch, setting),
    )
    return sharing_names(judged)


def _regime(
    stretches: Sequence[Stretch],
    judged: Sequence[Judged],
    promise: StepPromise | None,
    main: int,
    setting: Setting,
) -> list[doubts.Reason]:
    """Return a reason if only the burst or only the baseline was measured."""
    if promise is None:
        return []
    expected = promise.expected
    falls = f"at full load, then the rate falls to {shown_rate(expected.lasting.iops, setting)}"
    if stretches[main].is_mixed:
        lasts = f"the credit lasts {format_duration_s(expected.lasts_s or 0.0)}"
        words = f"the figure is a mean of burst and baseline: {lasts} {falls}"
        return [doubts.MIXED.reason(words)]
    used_up = any(stretch.used_up for stretch in stretches)
    if not expected.bursts or used_up or judged[main].kind != "burst":
        return []
    lasts = f" for {format_duration_s(expected.lasts_s)}" if expected.lasts_s else ""
    allows = f"the credit allows {shown_rate(expected.begin.iops, setting)}{lasts}"
    return [doubts.BURST_ONLY.reason(f"burst only: {allows} {falls}")]


def _stalled(measured: Measured, main: Stretch) -> Sequence[doubts.Reason]:
    """Return a doubt if more than a few seconds had no I/O, or next to none."""
    course = measured.phases
    if course is None or course.stalled_s <= MOST_STALLED * course.seconds:
        return ()
    share = course.stalled_s / course.seconds
    still_s = sum(stall.seconds for stall in course.stalls if stall.is_empty)
    words = [f"no I/O in {still_s:,.0f}"] if still_s else []
    figure = ""
    if main.stalled:
        figure = ": the figure is the mean of all seconds, and no second ran at that rate"
    if slow_s := course.stalled_s - still_s:
        words.append(f"less than a tenth of the usual I/O in {slow_s:,.0f}")
    said = f"{' and '.join(words)} of {course.seconds:,.0f} s ({share:.1%}){figure}"
    return (doubts.STALLED.reason(said),)


def _cached(
    stretch: Stretch, judged: Judged, setting: Setting, warnings: Sequence[Warning]
) -> Sequence[doubts.Reason]:
    """Return a doubt if the page cache set the rate and no warning says so."""
    known = any(warning.code == doubts.PAGE_CACHE.code for warning in warnings)
    # of a medium it is said already: faster than its kind can be
    is_said = setting.keeps_cache or known or setting.link in LINKS
    if judged.limiter.name != "page-cache" or is_said:
        return ()
    share = setting.device_share
    is_sure = bool(too_fast(stretch, setting)) or (share is not None and share < MOSTLY)
    return (
        doubts.PAGE_CACHE.reason(
            "; ".join(judged.limiter.evidence), weight="no" if is_sure else "with care"
        ),
    )


def _beside_promise(stretch: Stretch, setting: Setting, judged: Judged) -> list[doubts.Reason]:
    if judged.promised is None or judged.ratio is None:
        return []
    tokens = saved_tokens(stretch, setting)
    if tokens is not None and judged.limiter.name == "credit":
        return []  # the fall shows the empty bucket, and saved tokens explain the rest
    if tokens is not None and judged.limiter.name == tokens.limit:
        return [
            doubts.TOO_SHORT.reason(
                f"{setting.seconds or 0:.0f} s is short: one second of saved tokens makes the "
                f"rate {judged.ratio:.2f} times the limit"
            )
        ]
    if judged.limiter.name == "queue-depth" and judged.promised.limited_by == "latency":
        return []  # a latency is no cap: this disk answers sooner than is usual
    if is_above(stretch, setting):
        return [_above(stretch, judged, judged.promised, setting)]
    documented = _documented(stretch, judged.promised, setting)
    reached = judged.ratio * judged.promised.iops
    is_plausible = _has_range(stretch) and reached >= judged.promised.low_iops
    figure, below = _figure(stretch, setting), f"is {judged.ratio:.0%} of the {documented}"
    if judged.ratio >= _BELOW:
        return []
    if judged.limiter.is_unexplained and not is_plausible:
        words = f"{figure} {below}, and nothing that was measured explains it"
        return [doubts.BELOW_PROMISE.reason(words)]
    if judged.limiter.name == "credit" and not stretch.is_mixed:
        return [doubts.BELOW_PROMISE.reason(f"{figure} after the fall {below}")]
    return []


def _above(stretch: Stretch, judged: Judged, promised: Promised, setting: Setting) -> doubts.Reason:
    """The doubt of a rate above every promise. A burst is named only where it fell, and only a rate
    that may yet fall is to be measured for longer."""
    ratio = judged.ratio or 0.0
    times = f"{ratio:,.0f}" if ratio >= _TEN else f"{ratio:.3g}"
    figure, documented = _figure(stretch, setting), _documented(stretch, promised, setting)
    words = f"{figure} is {times} times the {documented}"
    if known := _not_of_the_device(judged, setting):
        device = device_words(stretch, setting)
        beside = f"; the device itself did {device}" if device else ""
        of_memory = judged.limiter.name in _BY_CACHE or bool(device)
        return doubts.ABOVE_PROMISE.reason(
            f"{words}: {known}{beside}", advice="do not plan with this figure" if of_memory else ""
        )
    if stretch.fell_from is not None or (stretch.kind == "baseline" and judged.ratio):
        kept = words.replace(figure, f"{figure}, which it kept after the fall,", 1)
        return doubts.ABOVE_PROMISE.without_advice(f"{kept}: cause unknown")
    if stretch.kind == "burst" and not stretch.used_up and ratio > _TWICE:
        return doubts.ABOVE_PROMISE.reason(f"{words}: an undocumented burst")
    words = f"{words}: cause unknown"
    if judged.limiter.name == "fixed-limit" or (setting.seconds or 0.0) >= _LONG_S:
        return doubts.ABOVE_PROMISE.without_advice(words)
    return doubts.ABOVE_PROMISE.reason(words)


def _not_of_the_device(judged: Judged, setting: Setting) -> str:
    """Why a rate above every promise is none of the device; empty where that is not known."""
    if why := _BY_CACHE.get(judged.limiter.name):
        return why
    if setting.device_requests is not None:
        requests = f"{format_iops(setting.device_requests)} requests a second"
        return f"a read-ahead or memory, since the device did {requests}"
    share = setting.device_share
    return "not the rate of the device" if share is not None and share < DEVICE_SHARE else ""


def _has_range(stretch: Stretch) -> bool:
    """Whether what is promised is a latency or an average, and no cap."""
    level = stretch.level
    if level is None or not level.bounds:
        return False
    return level.limited_by == "latency" or level.bounds[0].is_range


def _documented(stretch: Stretch, promised: Promised, setting: Setting) -> str:
    """`documented 3,000 IOPS`, of an average `documented 41.9 MB/s to 94.4 MB/s`."""
    word = "expected" if promised.source == BY_OWNER else "documented"
    least = ""
    if promised.limited_by != "latency" and _has_range(stretch):
        least = f"{shown_rate(promised.low_iops, setting)} to "
    return f"{word} {least}{shown_rate(promised.iops, setting)}"


def _figure(stretch: Stretch, setting: Setting) -> str:
    return shown_rate(rate(stretch, setting) or 0.0, setting)


def _unsteady(measured: Measured, setting: Setting) -> Sequence[doubts.Reason]:
    """Return the doubts of a step that drifted, dipped at a period, or went between two rates."""
    course = measured.phases
    if course is None:
        return ()
    block = setting.load.block_bytes if setting.load else 4096
    factor = 1 / block if course.figure == "bytes_per_s" else 1.0

    def words(value: float) -> str:
        return shown_rate(value * factor, setting)

    if course.drifted is not None:
        first, last = course.drifted.first, course.drifted.last
        moved = "fell" if last < first else "rose"
        text = f"its rate {moved} slowly from {words(first)} to {words(last)} and never settled"
        return (doubts.CHANGED.reason(text, advice="measure for longer, until the rate settles"),)
    if course.dips is not None:
        dips = course.dips
        falls = f"dips from {words(dips.usual)} to {words(dips.to)}"
        falls = "does almost nothing" if dips.to < STALLED_AT * dips.usual else falls
        text = f"it {falls} every {dips.every_s:.0f} s, {dips.share:.0%} of the time"
        return (doubts.DIPS.reason(text, weight=None if dips.share >= MOST_STALLED else "note"),)
    if course.modes is not None:
        return (doubts.TWO_MODES.reason(two_rates(course.modes, words)),)
    return ()


def two_rates(modes: TwoModes, words: Callable[[float], str], what: str = "time") -> str:
    """`it has two rates: 5,000 IOPS 63% of the time and 2,000 IOPS 37%`."""
    high, low = f"{1 - modes.low_share:.0%}", f"{modes.low_share:.0%}"
    often, seldom = f"{words(modes.high)} {high} of the {what}", f"{words(modes.low)} {low}"
    return f"it has two rates: {often} and {seldom}"


def changed(
    measured: Measured, stretches: Sequence[Stretch], main: int, promise: StepPromise | None
) -> Sequence[doubts.Reason]:
    """Return a doubt if the figure's level stands for less than it seems to: the step ended at
    another level, its seconds keep to none, or it fell and rose under load without a documented
    bucket."""
    shown, last = stretches[main], stretches[-1]
    if measured.cov is None and shown.cov is not None and shown.cov >= _NO_LEVEL:
        return (doubts.CHANGED.reason(f"its ten-second means vary by {shown.cov:.0%}"),)
    if shown.kind == "baseline":
        has_bucket = promise is not None and promise.expected.bursts
        rose = any(
            _is_apart(a, b) and _of(a, b) < _of(b, a) and a.end_s == b.start_s
            for a, b in pairwise(stretches[:main])
        )
        again = doubts.CHANGED.reason("it fell, rose and fell again")
        return () if has_bucket or not rose else (again,)
    if shown is last or last.kind == "stall" or not _is_apart(shown, last):
        return ()
    then = figure_words(last.iops, last.bytes_per_s)
    now = figure_words(shown.iops, shown.bytes_per_s)
    return (doubts.CHANGED.reason(f"it ended at {then}, not at {now}"),)


def beyond_its_credit(
    stretch: Stretch, measured: Measured, promise: StepPromise | None
) -> Sequence[doubts.Reason]:
    """Return a doubt if a burst went on for longer than its bucket can bear it, from full."""
    expected = promise.expected if promise is not None else None
    if expected is None or stretch.kind != "burst" or not expected.bursts or stretch.used_up:
        return ()
    seconds = measured.seconds
    if stretch.start_s is not None and stretch.end_s is not None:
        seconds = stretch.end_s - stretch.start_s
    lasts_s = expected.lasts_s
    block = expected.load.block_bytes
    iops = stretch.iops if stretch.iops is not None else (stretch.bytes_per_s or 0.0) / block
    if lasts_s is None or seconds <= ABOVE * lasts_s or iops < _BELOW * expected.begin.iops:
        return ()
    lasted, lasts = format_duration_s(seconds), format_duration_s(lasts_s)
    return (
        doubts.ABOVE_PROMISE.reason(f"the burst lasted {lasted}, but its credit lasts {lasts}"),
    )


def figure_words(iops: float | None, bytes_per_s: float | None) -> str:
    """Return `3,000 IOPS`, or `98.0 MB/s` for large blocks and if there are no IOPS."""
    if iops is not None and not in_large_blocks(iops, bytes_per_s):
        return f"{format_iops(iops)} IOPS"
    return f"{format_mb_per_s(bytes_per_s)} MB/s" if bytes_per_s is not None else "nothing"


def _is_apart(first: Stretch, second: Stretch) -> bool:
    rates = (_of(first, second), _of(second, first))
    return min(rates) <= (1 - LEAST_CHANGE) * max(rates)


def _of(stretch: Stretch, beside: Stretch) -> float:
    """Return a rate in the unit that both have."""
    have_iops = stretch.iops is not None and beside.iops is not None
    return (stretch.iops if have_iops else stretch.bytes_per_s) or 0.0
