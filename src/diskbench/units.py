"""Parse and format sizes, rates and times for people.

GiB is 2^30 bytes, MB/s is 10^6 bytes per second, IOPS are operations per second; latency is
stored in nanoseconds and shown in µs, ms or s.
"""

import re

from diskbench.errors import InvalidValue

KIB = 2**10
MIB = 2**20
GIB = 2**30
NS_PER_S = 1_000_000_000

SHOWN_AS_BYTES = 64 * KIB
"""From this block size on, rates are shown in MB/s, in tables and sentences alike."""
_NEARLY = 0.99
"""Rounded figures, and a file's last block, make the mean block a little smaller; our choice."""
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?)(b?)$", re.IGNORECASE)
_DURATION = re.compile(r"^(\d+(?:\.\d+)?)\s*(s|m|h|d)?$")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_FIELDS = {"--set": "parameters", "--label": "labels", "--tag": "tags"}
"""Flags that set one pair of a mapping field."""


def parse_size_bytes(text: str) -> int:
    """Bytes of a typed size: `4k`, `64KiB`, `1m`, `1.5g`.

    Every prefix is a power of 1024; fio's own rules, for job files, are in fio/numbers.py.
    Raises InvalidValue for anything else.
    """
    match = _SIZE.match(text.strip())
    if not match:
        raise InvalidValue(
            f"{text!r} is not a size", advice="write a number with k, m, g or t, such as 64k or 20g"
        )
    number, prefix, _, _ = match.groups()
    return int(float(number) * 1024 ** _POWER[prefix.lower()])


def parse_duration_s(text: str) -> float:
    """Seconds of `90`, `90s`, `5m`, `24h` or `1d`. Raises InvalidValue for anything else."""
    match = _DURATION.match(text.strip())
    if not match:
        raise InvalidValue(
            f"{text!r} is not a duration", advice="write seconds, or 90s, 5m, 24h, 1d"
        )
    return float(match.group(1)) * _SECONDS[match.group(2) or "s"]


def parse_share(flag: str, text: str, *, least: float = 0) -> float:
    """The share that `5%` or `0.05` says: `least` or more, below 1. Raises InvalidValue."""
    number = text.strip()
    try:
        share = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not least <= share < 1:
        raise InvalidValue(f"{flag} {text!r} is not a share", advice="write it like 5%")
    return share


def field_of(flag: str) -> str:
    """Return the field of a cell that a flag of `run` sets: `vm_iops` for `--vm-iops`."""
    return _FIELDS.get(flag, flag[2:].replace("-", "_"))


def counted(count: int, noun: str) -> str:
    """`1 run`, `3,000 runs`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def times(count: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def format_bytes(count: float) -> str:
    """`count` bytes with a binary unit: `20 GiB`, `1.5 MiB`, `512 B`."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            return f"{value:.0f} {unit}" if value == int(value) else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable: TiB takes all")


def in_large_blocks(iops: float | None, bytes_per_s: float | None) -> bool:
    """Whether the mean block of a rate is large; False where a figure is unknown or 0."""
    return bool(iops and bytes_per_s and bytes_per_s / iops >= SHOWN_AS_BYTES * _NEARLY)


def format_mb_per_s(bytes_per_s: float) -> str:
    """A rate in MB/s (10^6 bytes/s), without the unit: `102.6`, `0.41`, `1,614`."""
    return _significant(bytes_per_s / 1e6)


def format_iops(iops: float) -> str:
    """Operations per second with thousands separators: `3,000`, `99.6`."""
    return _significant(iops)


def format_latency_ns(ns: float | None) -> str:
    """A latency with its unit: `85 µs`, `1.24 ms`, `2.50 s`; an en dash where there is none."""
    if ns is None:
        return "–"
    if ns < 1e3:
        return f"{ns:.0f} ns"
    for scale, unit in ((1e3, "µs"), (1e6, "ms"), (1e9, "s")):
        if ns < scale * 999.5 or unit == "s":
            return f"{_significant(ns / scale)} {unit}"
    raise AssertionError("unreachable: seconds take all")


def format_share(share: float) -> str:
    """A share as a percentage: `5 %`, `4.2 %`, `0.5 %`."""
    return f"{share * 100:.3g} %"


def format_usd(usd: float) -> str:
    """US dollars; below $1 in hundredths of a cent: `$1,425.60`, `$0.0123`, `$0`."""
    if abs(usd) >= 1:
        return f"${usd:,.2f}"
    return f"${usd:.4f}" if usd else "$0"


def format_duration_s(seconds: float) -> str:
    """A duration for a person: `45 s`, `12 min 30 s`, `3 h 05 min`, `2 d 4 h`."""
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    minutes, remaining_s = divmod(total, 60)
    if minutes < 60:
        return f"{minutes} min {remaining_s:02d} s" if remaining_s else f"{minutes} min"
    hours, minutes = divmod(round(total / 60), 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min" if minutes else f"{hours} h"
    days, hours = divmod(round(total / 3600), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def _significant(value: float) -> str:
    """Three significant digits below a thousand, whole numbers with separators above."""
    if value == 0:
        return "0"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    if abs(value) >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}"
