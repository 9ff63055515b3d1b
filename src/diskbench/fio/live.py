"""The progress of a running step: the lines that the filter beside fio (interim.awk) writes to
live.tsv, one each second."""

from __future__ import annotations

from dataclasses import dataclass

from diskbench.model.result import Tick

_FIELDS = 14
_WHOLE_S = 0.9
"""Least seconds behind a rate; our choice. fio writes a document each second and one when it ends,
often a fraction of a second later: queues that drain then look like a faster disk."""
_LARGEST = 1e30
"""No count, size or time of a real disk is larger, and sums of such numbers stay finite."""


@dataclass(frozen=True)
class Totals:
    """What one direction did since the job began: I/Os, bytes, and Σ latency (ns) of N I/Os."""

    ios: float = 0.0
    bytes: float = 0.0
    latency_sum_ns: float = 0.0
    latencies: float = 0.0


@dataclass(frozen=True)
class LiveTotals:
    """One interim document of fio, all jobs summed. `unix_s` is the measured host's clock."""

    unix_s: float
    runtime_s: float
    read: Totals = Totals()
    write: Totals = Totals()
    trim: Totals = Totals()


def parse_live(line: bytes) -> LiveTotals | None:
    """A line of live.tsv; None for a sign of life (`#`), a torn line, or anything else."""
    fields = line.split(b"\t")
    if len(fields) != _FIELDS:
        return None
    try:
        numbers = [float(field) for field in fields]
    except ValueError:
        return None
    if not all(0 <= n <= _LARGEST for n in numbers):
        return None
    return LiveTotals(
        numbers[0],
        numbers[1],
        Totals(*numbers[2:6]),
        Totals(*numbers[6:10]),
        Totals(*numbers[10:14]),
    )


def tick(before: LiveTotals | None, now: LiveTotals) -> Tick | None:
    """The rates between two interim documents; since the start where `before` is None. None where
    too little of a second passed between them, as when a step ends.

    Latency is Δ(mean·N) / ΔN over all directions: the mean of the I/Os that ended in between.
    fio starts its counts again when a ramp time ends; then `now` is taken from zero.
    """
    is_first = before is None
    if before is None or _starts_again(before, now):
        before = LiveTotals(now.unix_s - now.runtime_s, 0.0)
    # fio's own time only goes forward; the host's clock may be moved meanwhile.
    seconds = now.runtime_s - before.runtime_s or now.unix_s - before.unix_s
    if seconds <= 0:
        return Tick(elapsed_s=now.runtime_s) if is_first else None
    if seconds < _WHOLE_S and not is_first:
        return None
    n = _latencies(now) - _latencies(before)
    sum_ns = _latency_sum(now) - _latency_sum(before)
    return Tick(
        elapsed_s=now.runtime_s,
        read_iops=max(0.0, now.read.ios - before.read.ios) / seconds,
        write_iops=max(0.0, now.write.ios - before.write.ios) / seconds,
        read_bytes_per_s=max(0.0, now.read.bytes - before.read.bytes) / seconds,
        write_bytes_per_s=max(0.0, now.write.bytes - before.write.bytes) / seconds,
        latency_ns=max(0.0, sum_ns) / n if n >= 1 else None,
    )


def _starts_again(before: LiveTotals, now: LiveTotals) -> bool:
    return now.runtime_s < before.runtime_s or any(
        new.ios < old.ios
        for old, new in (
            (before.read, now.read), (before.write, now.write), (before.trim, now.trim),
        )
    )  # fmt: skip


def _latencies(totals: LiveTotals) -> float:
    return totals.read.latencies + totals.write.latencies + totals.trim.latencies


def _latency_sum(totals: LiveTotals) -> float:
    return totals.read.latency_sum_ns + totals.write.latency_sum_ns + totals.trim.latency_sum_ns
