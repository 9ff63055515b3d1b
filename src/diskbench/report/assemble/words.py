"""Figures, times, prices and ids of rows as words: the same in a terminal, in Markdown and
on a page."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from rich.cells import cell_len, set_cell_size

from diskbench.model.comparison import Difference
from diskbench.model.expectation import DiskPrice
from diskbench.units import (
    KIB,
    format_iops,
    format_latency_ns,
    format_mb_per_s,
    format_usd,
    in_large_blocks,
)

NONE = "–"
"""An unknown figure."""
NO_INTERVAL = "no interval (n = {n})"
_MOST_SHOWN = 6


def bare_text(metric: str) -> Callable[[float], str]:
    """The function that formats a value of `metric`; rates without their unit."""
    return {"iops": format_iops, "bytes_per_s": format_mb_per_s}.get(metric, format_latency_ns)


def figure_text(metric: str) -> Callable[[float], str]:
    """The function that formats a value of `metric` with its unit."""
    show, unit = bare_text(metric), {"iops": " IOPS", "bytes_per_s": " MB/s"}.get(metric, "")
    return lambda value: f"{show(value)}{unit}"


def change_text(change: float) -> str:
    """`−12.3 %`."""
    return f"{'−' if change < 0 else '+'}{abs(change) * 100:.1f} %"


def difference_text(difference: Difference) -> str:
    """`kernel 6.1 → 6.5`."""
    sides = []
    for values in (difference.a, difference.b):
        more = len(values) - _MOST_SHOWN
        sides.append(", ".join(values[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else ""))
    return f"{difference.fact} {' → '.join(sides)}"


def figure(iops: float | None, bytes_per_s: float | None) -> str:
    """`3,000` IOPS, or `98.0 MB/s` for large blocks and if no IOPS are known."""
    if iops is not None and rate_metric(iops, bytes_per_s) == "iops":
        return format_iops(iops)
    return f"{format_mb_per_s(bytes_per_s)} MB/s" if bytes_per_s is not None else NONE


def rate_words(iops: float | None, bytes_per_s: float | None) -> str:
    """`3,000 IOPS`, or `93.8 MB/s` as `figure` has it."""
    text = figure(iops, bytes_per_s)
    return text if text == NONE or text.endswith("/s") else f"{text} IOPS"


def cut(text: str, width: int, *, middle: bool = False) -> str:
    """`text` in at most `width` columns, with … for what its end or its `middle` lacks."""
    if cell_len(text) <= width:
        return text
    end = text[len(text) - (width - 1) // 2 :] if middle else ""
    while cell_len(end) >= width:
        end = end[1:]
    return f"{set_cell_size(text, max(width - 1 - cell_len(end), 0))}…{end}"


NO_DATE = "no date"
"""Text for a run imported from a file without a time."""


def local_time(utc: str | None) -> str:
    """A time of a row in the local timezone."""
    return f"{datetime.fromisoformat(utc).astimezone():%Y-%m-%d %H:%M}" if utc else NO_DATE


def utc_moment(utc: str | None) -> str:
    """A time of a row in UTC with its zone, for output that is read elsewhere and later."""
    return f"{datetime.fromisoformat(utc).astimezone(UTC):%Y-%m-%d %H:%M UTC}" if utc else NO_DATE


_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def row_id(of: str, step: str = "", direction: str = "") -> str:
    """`row-<id of a run or a trial>`, for one of its steps `row-<id>-<step>-<direction>`."""
    return "-".join(["row", *(_UNSAFE.sub("_", part) for part in (of, step, direction) if part)])


def row_href(of: str, step: str = "", direction: str = "") -> str:
    """The link to that row from anywhere on the same page."""
    return f"#{row_id(of, step, direction)}"


def rate_metric(iops: float | None, bytes_per_s: float | None) -> Literal["iops", "bytes_per_s"]:
    """By which of its two figures a rate is shown: bytes for large blocks, else operations."""
    return "bytes_per_s" if in_large_blocks(iops, bytes_per_s) else "iops"


SMALL_BLOCK = 64 * KIB
"""Up to this block size a disk is priced by IOPS, above it by bytes per second."""


def price_words(price: DiskPrice | None, rate: float | None, block: int | None) -> str:
    """`$0.80 per 1,000 IOPS`: the monthly price over the measured `rate` (blocks per second); empty
    if either is unknown."""
    if price is None or not price.total_usd or not rate:
        return ""
    if block is None or block <= SMALL_BLOCK:
        return f"{format_usd(price.total_usd / rate * 1000)} per 1,000 IOPS"
    return f"{format_usd(price.total_usd / (rate * block) * 1e8)} per 100 MB/s"


def dollars(usd: float | None) -> str:
    """An amount to the cent."""
    return NONE if usd is None else f"${usd:,.2f}"
