"""Whether a rate is at a cap of disk or machine, or at the rate of an empty bucket (MR-12;
docs/METHOD.md, "Verdict"). Averages and ranges are no caps."""

from collections.abc import Iterable

from diskbench.analysis.setting import Setting, Stretch, device_rate, is_flat, rate, shown_rate
from diskbench.model.expectation import LIMIT_WORDS, Bound, ExpectedLevel
from diskbench.model.verdict import Limiter
from diskbench.units import SHOWN_AS_BYTES, format_iops, format_mb_per_s

NEAR = 0.10
"""A measured rate within this fraction of a cap is at the cap (MR-12)."""
SAVED_S = 1.0
"""Seconds of tokens that a limiter may have saved up. Random tests of 5 s read 1.21 times their
promise on two disk types of a cloud in 2018, where 6/5 is 1.20."""
SHORT_S = 30.0
_TOKENS_OFF = 0.02
_HALF = 0.5
_NOT_FAR = 1.5
_NOT_PAST = 0.03
"""A machine's limit that is far above the disk's promise is passed by no more; our choice."""
CACHED = frozenset({"vm-cached-iops", "vm-cached-throughput"})
_UNWRITTEN = "was measured; up to 20 % of memory (vm.dirty_ratio) may still have been unwritten"


def credit(stretch: Stretch, setting: Setting) -> Limiter | None:
    """Return `credit` if an empty bucket limits the rate, else None."""
    told_fall = fell(stretch, setting) if stretch.lasts else ()
    measured, level = rate(stretch, setting), stretch.level
    if level is None or level.limited_by is None or not setting.knows_buckets:
        unpromised = ("the limits of this disk are unknown",) if level is None else ()
        # Of writes a full cache of the disk explains a fall, too, but no flat level; one of less
        # than half has many causes.
        is_cache = is_writing(setting) and not is_flat(stretch)
        is_like = setting.is_like_bucket or (is_deep(stretch) and not is_cache)
        is_credit = told_fall and is_like
        return Limiter(name="credit", evidence=(*told_fall, *unpromised)) if is_credit else None
    if measured is None:
        return None
    near = _near(measured, level)
    if bool(setting.credit) and stretch.used_up and (told_fall or not stretch.is_guess):
        began = setting.credit.get(level.limited_by, 1.0)
        if not told_fall and began < _HALF:
            told_fall = (f"the step began with {began:.0%} of the credit",)
        if near is not None:
            return Limiter(name="credit", evidence=_at_baseline(stretch, near, told_fall, setting))
        if told_fall and stretch.fell_from is None:
            return None
        if told_fall and measured >= (1 - NEAR) * level.low_iops:
            lasting = f"the documented baseline is {shown_rate(level.iops, setting)}"
            return Limiter(name="credit", evidence=(*told_fall, lasting))
    # Where no bucket is known, a fall of less than half has many causes.
    is_credit = near is not None or bool(setting.credit) or is_deep(stretch)
    if not told_fall or stretch.fell_from is None or not is_credit:
        return None
    at_promise = (_at(measured, near, setting),) if near is not None else ()
    undocumented = "no burst credit is documented for this disk"
    if setting.credit:
        undocumented = "the documented credit does not explain the fall"
    return Limiter(name="credit", evidence=(*told_fall, *at_promise, undocumented))


def _at_baseline(
    stretch: Stretch, near: Bound, told_fall: tuple[str, ...], setting: Setting
) -> tuple[str, ...]:
    if stretch.is_mixed:
        mean = shown_rate(near.iops, setting)
        return (f"the remaining credit plus what flows in averages {mean} over the step",)
    return (*told_fall, _keeps(near, setting))


def fell(stretch: Stretch, setting: Setting) -> tuple[str, ...]:
    """Return a clause with the rates before and after the fall, in the unit in which such blocks
    are shown; empty if it did not fall."""
    if stretch.fell_from is None:
        return ()
    now, block = stretch.iops, setting.load.block_bytes if setting.load else 0
    if now is None or block >= SHOWN_AS_BYTES:
        factor = 1 if now is None else block
        after = (stretch.bytes_per_s or 0.0) if now is None else now * factor
        rates = (stretch.fell_from * factor, after)
        shown, unit = [format_mb_per_s(rate_) for rate_ in rates], "MB/s"
    else:
        shown, unit = [format_iops(stretch.fell_from), format_iops(now)], "IOPS"
    done = ""
    if stretch.credits and now is not None:
        done = f" after {stretch.credits:,.0f} I/Os above the lower level"
    return (f"it fell from {shown[0]} to {shown[1]} {unit}{done}",)


def is_deep(stretch: Stretch) -> bool:
    """Whether it fell to half or less, or with other steps of its trial: less has many causes."""
    before, now = stretch.fell_from, stretch.iops
    if now is None:
        now = stretch.bytes_per_s
    return before is not None and now is not None and (now <= _HALF * before or stretch.is_joint)


def is_writing(setting: Setting) -> bool:
    """Whether most of the load is writes."""
    return setting.load is not None and setting.load.read_share < _HALF


def cap(stretch: Stretch, setting: Setting) -> Limiter | None:
    """Return the cap of disk or machine that the rate has reached; None if there is none."""
    level, measured = stretch.level, rate(stretch, setting)
    if level is None or measured is None:
        return None
    written = device_rate(stretch, setting) or measured
    readings = [(measured, ""), (written, _UNWRITTEN)] if written < measured else [(measured, "")]
    caps_reached = [
        (abs(reading / near.iops - 1), reading, near, words)
        for reading, words in readings
        # else of another plausible request size, or without the host cache's help
        if (near := _near(reading, level) or _nearest(reading, level.others)) is not None
    ]
    if caps_reached:
        _, reading, near, words = min(caps_reached, key=lambda near_cap: near_cap[0])
        evidence = [_at(reading, near, setting)]
        if words:
            evidence.append(f"{shown_rate(measured, setting)} {words}")
        if near in level.others and setting.host_cache:
            evidence.append("the host cache did not help")
        return Limiter(name=near.limit, evidence=tuple(evidence))
    tokens = saved_tokens(stretch, setting)
    if tokens is None:
        return None
    evidence_words = (
        f"{shown_rate(measured, setting)} in {_seconds(stretch, setting):.0f} s is the "
        f"{LIMIT_WORDS[tokens.limit]} limit of {shown_rate(tokens.iops, setting)} plus one second "
        "of saved tokens"
    )
    return Limiter(name=tokens.limit, evidence=(evidence_words,))


def saved_tokens(stretch: Stretch, setting: Setting) -> Bound | None:
    """Return the tightest cap if a short step exceeds it by no more than a second of saved tokens;
    None otherwise."""
    level, measured, seconds = stretch.level, rate(stretch, setting), _seconds(stretch, setting)
    if level is None or measured is None or not 0 < seconds <= SHORT_S:
        return None
    caps = [bound for bound in level.bounds if bound.is_cap]
    if not caps:
        return None
    most = caps[0].iops * (1 + SAVED_S / seconds) * (1 + _TOKENS_OFF)
    is_over = measured > caps[0].iops and not _is_near(measured, caps[0].iops)
    return caps[0] if is_over and measured <= most else None


def _is_near(measured: float, cap_: float) -> bool:
    return round(abs(measured / cap_ - 1), 6) <= NEAR


def _seconds(stretch: Stretch, setting: Setting) -> float:
    if stretch.start_s is not None and stretch.end_s is not None:
        return stretch.end_s - stretch.start_s
    return setting.seconds or 0.0


def _near(measured: float | None, level: ExpectedLevel) -> Bound | None:
    """Return the tightest cap if the rate is within 10 % of it; above it, the next cap of another
    limit that the rate is near. All requests pass all gates: a rate far above the disk's is at a
    machine's only where it is not past that, too; a cache's limits hold there."""
    caps = [bound for bound in level.bounds if bound.is_cap]
    if measured is None or not caps or measured < (1 - NEAR) * caps[0].iops:
        return None
    others = (
        bound
        for bound in caps
        if bound is caps[0]
        or (
            bound.limit != caps[0].limit
            and (bound.iops <= _NOT_FAR * caps[0].iops or bound.limit in CACHED)
        )
    )
    at_the_machine = (
        bound
        for bound in caps
        if bound.limit.startswith("vm-")
        and (1 - NEAR) * bound.iops <= measured <= (1 + _NOT_PAST) * bound.iops
    )
    return _nearest(measured, others) or next(at_the_machine, None)


def at_machine(stretch: Stretch, setting: Setting) -> bool:
    """Whether the rate, less what may be unwritten, is at a limit of the machine that is far above
    what the disk promises."""
    level, written = stretch.level, device_rate(stretch, setting)
    near = _near(written, level) if level is not None else None
    return near is not None and near.limit.startswith("vm-")


def _nearest(measured: float, bounds: Iterable[Bound]) -> Bound | None:
    return next((bound for bound in bounds if _is_near(measured, bound.iops)), None)


def _keeps(baseline: Bound, setting: Setting) -> str:
    """`without credit this disk sustains 13.1 MB/s (200 requests/s)`; of a limit of the machine
    `without credit this machine sustains 144 MB/s (VM throughput, 137 requests/s)`."""
    shown = shown_rate(baseline.iops, setting)
    is_machine = baseline.limit.startswith("vm-")
    more = [LIMIT_WORDS[baseline.limit]] if is_machine else []
    if shown.endswith("MB/s"):
        more.append(f"{format_iops(baseline.iops)} requests/s")
    if baseline.counts > 1:
        more.append(f"each counts as {baseline.counts:g} I/Os")
    words = f" ({', '.join(more)})" if more else ""
    return f"without credit this {'machine' if is_machine else 'disk'} sustains {shown}{words}"


def _at(measured: float, cap: Bound, setting: Setting) -> str:
    """`2,950 IOPS, 2% below the disk IOPS limit of 3,000 IOPS`."""
    counted = f", where a block counts as {cap.counts:g} I/Os" if cap.counts > 1 else ""
    off = measured / cap.iops - 1
    where = "at" if abs(off) < 0.005 else f"{abs(off):.0%} {'above' if off > 0 else 'below'}"
    shown = (shown_rate(measured, setting), shown_rate(cap.iops, setting))
    return f"{shown[0]}, {where} the {LIMIT_WORDS[cap.limit]} limit of {shown[1]}{counted}"
