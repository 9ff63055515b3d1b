"""Whether a rate is at a cap of disk or machine, or at the rate of an empty bucket (MR-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.analysis.setting import ABOVE, Setting, Stretch, rate
from diskbench.model.expectation import LIMIT_WORDS
from diskbench.model.verdict import Limiter
from diskbench.units import KIB, format_iops, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.model.expectation import Bound, ExpectedLevel, LimitName

NEAR = 0.10
"""A measured rate within this fraction of a cap is at the cap (MR-12)."""
EMPTY = 0.02
"""A bucket filled to less than this fraction at the start of a step counts as empty."""
_SHOWN_AS_BYTES = 64 * KIB
_HALF = 0.5
NOT_CAPS = frozenset({"latency", "offered"})


def credit(stretch: Stretch, setting: Setting) -> Limiter | None:
    """Return `credit` if an empty bucket limits the rate, else None."""
    told_fall, measured, level = fell(stretch, setting), rate(stretch, setting), stretch.level
    if level is None or level.limited_by is None or not setting.knows_buckets:
        if is_writing(setting) and not setting.is_like_bucket:
            return None  # a full write cache of the disk explains the fall, too
        unpromised = ("no promise is known",) if level is None else ()
        return Limiter(name="credit", evidence=(*told_fall, *unpromised)) if told_fall else None
    guessed = stretch.is_guess and not told_fall
    if not setting.credit or not stretch.used_up or guessed or measured is None:
        return None  # no promised limit has credit, or some was left
    began = setting.credit.get(level.limited_by, 1.0)
    if not told_fall and began <= EMPTY:
        told_fall = (f"{began:.0%} of its credit was left when the step began",)
    near = _near(measured, level)
    if near is not None:
        return Limiter(name="credit", evidence=(_at(measured, near, setting), *told_fall))
    # An empty bucket still allows its baseline: a lower rate has another cause.
    if not told_fall or measured < (1 - NEAR) * level.low_iops:
        return None
    return Limiter(name="credit", evidence=(*told_fall, f"{format_iops(level.iops)} are to last"))


def fell(stretch: Stretch, setting: Setting) -> tuple[str, ...]:
    """Return a clause with the rates before and after the fall, in the unit in which such blocks
    are shown; empty if it did not fall."""
    if stretch.fell_from is None:
        return ()
    now, block = stretch.iops, setting.load.block_bytes if setting.load else 0
    if now is None or block >= _SHOWN_AS_BYTES:
        factor = 1 if now is None else block
        rates = (
            stretch.fell_from * factor,
            (stretch.bytes_per_s or 0.0) if now is None else now * factor,
        )
        shown, unit = [format_mb_per_s(rate_) for rate_ in rates], "MB/s"
    else:
        shown, unit = [format_iops(stretch.fell_from), format_iops(now)], "IOPS"
    done = ""
    if stretch.credits and now is not None:
        done = f", after {stretch.credits:,.0f} I/Os above that level"
    return (f"it fell at once from {shown[0]} to {shown[1]} {unit}{done}",)


def is_writing(setting: Setting) -> bool:
    """Whether most of the load is writes."""
    return setting.load is not None and setting.load.read_share < _HALF


def cap(stretch: Stretch, setting: Setting) -> Limiter | None:
    """Return the cap of disk or machine that the rate has reached; None if there is none."""
    level, measured = stretch.level, rate(stretch, setting)
    if level is None or measured is None:
        return None
    near = _near(measured, level)
    if near is not None:
        return Limiter(name=near.limit, evidence=(_at(measured, near, setting),))
    load = setting.load
    in_range = (1 - NEAR) * level.low_iops <= measured <= ABOVE * level.high_iops
    merged = load is not None and not load.direct and not load.random
    if merged and in_range and level.limited_by and level.limited_by not in NOT_CAPS:
        evidence = (
            f"{format_iops(measured)} blocks/s, within the {format_iops(level.low_iops)} to "
            f"{format_iops(level.high_iops)} that {allows(level.limited_by)}, by the "
            "size of the requests that the page cache makes"
        )
        return Limiter(name=level.limited_by, evidence=(evidence,))
    return None


def _near(measured: float | None, level: ExpectedLevel) -> Bound | None:
    """Return the tightest cap if the rate is within 10 % of it; above it, the next cap of another
    limit that the rate is near."""
    caps = [bound for bound in level.bounds if bound.limit not in NOT_CAPS]
    if measured is None or not caps:
        return None
    if measured < (1 - NEAR) * caps[0].iops:
        return None
    others = (bound for bound in caps if bound is caps[0] or bound.limit != caps[0].limit)
    return next((bound for bound in others if abs(measured / bound.iops - 1) <= NEAR), None)


def _at(measured: float, cap: Bound, setting: Setting) -> str:
    counted = f", a block counted as {cap.counts:g}" if cap.counts > 1 else ""
    off, block = _off(measured, cap.iops), setting.load.block_bytes if setting.load else None
    if cap.limit.endswith("throughput") and block is not None:
        rates = (format_mb_per_s(measured * block), format_mb_per_s(cap.iops * block))
        return f"{rates[0]} MB/s, {off} the {rates[1]} that {allows(cap.limit)}{counted}"
    return (
        f"{format_iops(measured)} IOPS, {off} the {format_iops(cap.iops)} that "
        f"{allows(cap.limit)}{counted}"
    )


def allows(limit: LimitName) -> str:
    """`disk IOPS allow`, `VM throughput allows`."""
    return f"{LIMIT_WORDS[limit]} {'allow' if limit.endswith('iops') else 'allows'}"


def _off(measured: float, promised: float) -> str:
    """`1 % below`, or `at`."""
    off = measured / promised - 1
    if abs(off) < 0.005:
        return "at"
    return f"{abs(off):.0%} {'above' if off > 0 else 'below'}"
