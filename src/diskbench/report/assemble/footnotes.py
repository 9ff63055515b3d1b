"""Footnotes of a table of figures: units, loads, levels, and the meaning of a dash."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.report.assemble.lines import StepLine


def footnotes(lines: Sequence[StepLine]) -> tuple[str, ...]:
    """The footnotes that these lines need, for every output format; empty without lines."""
    return tuple(text for text, applies in _notes(lines) if applies) if lines else ()


def _notes(lines: Sequence[StepLine]) -> Sequence[tuple[str, bool]]:
    roles = {line.role for line in lines}
    levels = ", ".join(
        f"({level})" for level in dict.fromkeys(line.level for line in lines) if level
    )
    return (
        ("MB/s = 10^6 bytes/s; CPU = share of one core that all of fio's jobs used", True),
        (f"{levels} = figures of this level only: the step had several levels", bool(levels)),
        (
            "– = not shown: the latencies mix the levels before and after a fall",
            any(line.crosses for line in lines),
        ),
        (
            "latency of offered steps is at a fixed arrival rate, of other steps at full load",
            "offered" in roles,
        ),
        (
            "latency is at full load; for latency at a chosen load: --profile offered-load",
            "measure" in roles and "offered" not in roles,
        ),
        (
            "median of an even number of values = the worse of the two in the middle",
            any(line.n and line.n % 2 == 0 for line in lines),
        ),
        ("(3–7) = median of these rounds", any(line.rounds for line in lines)),
        (
            "– = too few I/Os for this percentile (p99 needs 299, p99.9 2,995)",
            any(line.p50_ns and not line.p99_9_ns for line in lines),
        ),
        (
            "latency of synced writes is that of fsync or fdatasync, not of write()",
            any(line.latency_of_sync for line in lines),
        ),
        (
            "latency is completion latency (clat): fio recorded no other",
            any(line.completion_only for line in lines),
        ),
    )
