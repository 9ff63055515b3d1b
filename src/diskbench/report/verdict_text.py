"""Verdicts in words: a line a stretch with what was promised, measured and in the way. 80 columns.

Doubts that a step's warnings tell stand under the table already; here they are named only.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from diskbench.report.phase_lines import clock
from diskbench.units import format_iops, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.model.verdict import Judged, Reason, Verdict

WIDTH = 80
_NONE = "–"
_TOLD_APART = frozenset({"burst-only", "above-promise", "below-promise", "above-medium"})
"""Reasons that no warning tells."""


def verdict_lines(found: Sequence[Verdict]) -> list[str]:
    """The table of a run's verdicts, then what each rests on. Empty without any."""
    if not found:
        return []
    rows = [row for one in found for row in _rows(one)]
    head = ("", "promised", "measured", "ratio", "limited by", "believe")
    table = [head, *rows]
    wide = [max(len(row[at]) for row in table) for at in range(len(head))]
    room = WIDTH - sum(wide[1:]) - 2 * (len(head) - 1)
    wide[0] = min(wide[0], max(room, 12))
    lines = []
    for row in table:
        first = row[0] if len(row[0]) <= wide[0] else f"{row[0][: wide[0] - 1]}…"
        cells = [f"{first:<{wide[0]}}", *(f"{row[at]:>{wide[at]}}" for at in (1, 2, 3))]
        cells += [f"{row[4]:<{wide[4]}}", row[5]]
        lines.append("  ".join(cells).rstrip())
    for one in found:
        lines += _grounds(one)
    return lines


def figure(one: Judged) -> str:
    """What was measured, short: `3,000`, or `98.0 MB/s` where a log has no I/Os."""
    if one.iops is not None:
        return format_iops(one.iops)
    return f"{format_mb_per_s(one.bytes_per_s)} MB/s" if one.bytes_per_s is not None else _NONE


def _rows(one: Verdict) -> Iterator[tuple[str, ...]]:
    several = len(one.stretches) > 1
    if several:
        yield (one.step, "", "", "", "", one.believe)
    for stretch in one.stretches:
        name = f"  {_when(stretch)}" if several else one.step
        if not several and stretch.kind in ("burst", "baseline"):
            name += f" ({stretch.kind})"
        promised = format_iops(stretch.promised.iops) if stretch.promised else _NONE
        ratio = f"{stretch.ratio:.0%}" if stretch.ratio is not None else _NONE
        believe = "" if several else one.believe
        yield (name, promised, figure(stretch), ratio, stretch.limiter.words(), believe)


def _when(one: Judged) -> str:
    kind = one.kind or "level"
    if one.start_s is None or one.end_s is None:
        return kind
    return f"{kind} {clock(one.start_s)}–{clock(one.end_s)}"


def _grounds(one: Verdict) -> Iterator[str]:
    for stretch in one.stretches:
        if not stretch.limiter.evidence:
            continue
        name = f"{one.step}, {stretch.kind}" if len(one.stretches) > 1 else one.step
        yield from _folded(f"{name}: {'; '.join(stretch.limiter.evidence)}")
    if one.believe != "yes":
        yield from _folded(f"{one.step}: {one.words()}", lead="! ")
    for reason in one.reasons:
        if reason.code in _TOLD_APART:
            yield from _folded(f"{one.step}: {_told(reason)}", lead="· ")


def _told(reason: Reason) -> str:
    return f"{reason.message}; {reason.advice}" if reason.advice else reason.message


def _folded(text: str, *, lead: str = "  ") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=lead, subsequent_indent="    ", break_on_hyphens=False
    )
