"""From fio's report of one step to its rows: one for each job and direction, and their sums
(docs/METHOD.md, "Units and rows of a step").

The jobs of a step run side by side (one step is one stonewall group), so a step's rates are sums
over the longest run time, as fio computes a group. Where jobs ran for different times this is the
mean over the whole step, including the time when only some of them ran. The sum of the jobs' own
rates would describe a load that never existed. Job rows have each job's own rate.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from diskbench.errors import FioOutputUnreadable
from diskbench.fio import declared
from diskbench.fio.histogram import QUANTILES, longest_ns, merge, needed, quantile, within
from diskbench.fio.reported import DirectionStats, FioJob, FioOutput, ReportedLatency
from diskbench.limits import COUNTER
from diskbench.model.result import Direction, Measurement
from diskbench.model.spec import Step
from diskbench.units import NS_PER_S

ALL_JOBS = "all"
"""The job name of a step row; its job_index is -1."""

TIMED: Final = 0.99
"""Least share of a row's I/Os that must have been timed for a latency to be shown; our choice: fio
does not time an I/O that failed, and times none of a job with gtod_reduce or disable_clat."""

_SECTOR = 512
_OFF = 0.005

_Kind = Literal["lat", "clat"]
_KINDS: tuple[_Kind, ...] = ("lat", "clat")
_EXTREMES = ("mean_ns", "min_ns", "max_ns", "stddev_ns")
_POOLED = {"lat": _EXTREMES, "clat": _EXTREMES, "slat": ("mean_ns", "max_ns")}
"""What a row has of each kind of latency."""
_ORDER: tuple[Direction, ...] = ("read", "write", "trim", "mixed", "sync")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Part:
    """One direction of one job with the options of its section."""

    job: FioJob
    options: declared.Options
    direction: Direction
    stats: DirectionStats
    runtime_ns: int
    members: int
    longest_ns: int


def measurements(output: FioOutput, *, run_id: str, step: Step) -> tuple[Measurement, ...]:
    """The rows of a step: for each job its directions, then the merged row of each direction.

    A direction of the job's pattern without any I/O has a row of zeros; other directions have
    none. Latencies are merged by counts: means weighted by samples, the standard
    deviation pooled with the spread between the means, quantiles from summed histograms (MR-10).
    """
    parts = _parts(output, declared.declared(step.job))
    rows = [_row([part], run_id, step, scope_is_job=True) for part in parts]
    for direction in _ORDER:
        same = [part for part in parts if part.direction == direction]
        if same:
            rows.append(_row(same, run_id, step, scope_is_job=False))
    return tuple(rows)


def _parts(output: FioOutput, sections: Mapping[str, declared.Options]) -> list[_Part]:
    parts: list[_Part] = []
    longest = longest_ns(output.version_numbers)
    for job in output.jobs:
        options = declared.options_of(job, output, sections)
        wall_ns = max((stats.runtime_ns for stats in job.directions.values()), default=0)
        wall_ns = wall_ns or (job.run_ms or 0) * 1_000_000
        asked = declared.directions_of(options)
        idle = job.ios == 0 and not asked
        members = _members(job, options, wall_ns)
        for direction in _ORDER:
            stats = job.directions.get(direction)
            if stats is None:
                continue
            # A job without any I/O has a row, too, so that it is shown.
            if stats.ios or direction in asked or (idle and direction == "read"):
                runtime = wall_ns if direction == "sync" else stats.runtime_ns
                parts.append(_Part(job, options, direction, stats, runtime, members, longest))
    return parts


def _members(job: FioJob, options: declared.Options, wall_ns: int) -> int:
    """How many fio jobs an entry sums up: more than one only with group_reporting.

    fio sums job_runtime over the members of a group, so it is about members × wall time. The job
    file does not have the number where jobs of several names share a group. Without any options
    the report may be of a group.
    """
    if set(options) - {"name"} and not declared.is_set(options, "group_reporting"):
        return 1
    if job.run_ms and wall_ns:
        return max(round(job.run_ms * 1_000_000 / wall_ns), 1)
    return declared.numjobs(options)


def _row(parts: Sequence[_Part], run_id: str, step: Step, *, scope_is_job: bool) -> Measurement:
    first = parts[0]
    runtime_ns = max(part.runtime_ns for part in parts)
    ios = sum(part.stats.ios for part in parts)
    size = sum(part.stats.bytes for part in parts)
    pooled = {of: _pool(_of_all(parts, of)) for of in _POOLED}
    kind, samples, quantiles = _quantiles(parts)
    members = sum(part.members for part in parts)
    short = sum(part.stats.short_ios for part in parts)
    switches = [part.job.context_switches for part in parts]
    total = max(ios, size, samples or 0, members, short, sum(n or 0 for n in switches))
    if total > COUNTER:
        raise FioOutputUnreadable(
            f"step {step.name!r}: its jobs together count {total:,}, more than {COUNTER:,}",
            advice="no disk does so much: the file was kept; look at what replaced fio's output",
        )
    return Measurement(
        run_id=run_id, step_index=step.index, step=step.name, role=step.role, round=step.round,
        scope="job" if scope_is_job else "step",
        job=first.job.name if scope_is_job else ALL_JOBS,
        job_index=first.job.index if scope_is_job else -1, jobs=members, direction=first.direction,
        rw=_common(declared.rw_of(part.options) for part in parts),
        block_bytes=_common(_block(part) for part in parts),
        iodepth=_common(declared.iodepth(part.options) for part in parts),
        ios=ios if all(part.stats.counted for part in parts) else None,
        bytes=size, runtime_ns=runtime_ns,
        iops=ios * NS_PER_S / runtime_ns if runtime_ns else 0.0,
        bytes_per_s=size * NS_PER_S / runtime_ns if runtime_ns else 0.0,
        clat_samples=samples, quantiles_of=kind,
        **{
            f"{of}_{figure}": getattr(pooled[of], figure, None)
            for of, figures in _POOLED.items()
            for figure in figures
        },
        **quantiles,
        cpu_user=_cores([(part.job, part.job.usr_cpu) for part in parts], runtime_ns),
        cpu_system=_cores([(part.job, part.job.sys_cpu) for part in parts], runtime_ns),
        context_switches=None if None in switches else sum(n or 0 for n in switches),
        short_ios=short, error=next((part.job.error for part in parts if part.job.error), 0),
    )  # fmt: skip


def _of_all(parts: Sequence[_Part], kind: str) -> list[ReportedLatency]:
    """The latencies of one kind; none where they leave out more than a few of the row's I/Os.

    Jobs that time nothing may be the slow ones: a figure of the others would pass for one of all.
    """
    latencies = [latency for part in parts if (latency := getattr(part.stats, kind))]
    timed = sum(latency.samples for latency in latencies)
    return latencies if timed >= TIMED * sum(part.stats.ios for part in parts) else []


def _pool(latencies: Sequence[ReportedLatency]) -> ReportedLatency | None:
    """All samples as one: N = Σ nᵢ, m = Σ nᵢ·mᵢ / N, and with sᵢ the standard deviations

        s² = (Σ (nᵢ − 1)·sᵢ² + Σ nᵢ·(mᵢ − m)²) / (N − 1)

    which is what the samples themselves would give (fio: stat.c, __sum_stat).
    """
    if len(latencies) < 2:
        return latencies[0] if latencies else None
    total = sum(latency.samples for latency in latencies)
    mean = sum(latency.samples * latency.mean_ns for latency in latencies) / total
    squares = sum(
        (latency.samples - 1) * latency.stddev_ns**2
        + latency.samples * (latency.mean_ns - mean) ** 2
        for latency in latencies
    )
    return ReportedLatency(
        samples=total, mean_ns=mean, min_ns=min(latency.min_ns for latency in latencies),
        max_ns=max(latency.max_ns for latency in latencies),
        stddev_ns=math.sqrt(squares / (total - 1)) if total > 1 else 0.0,
    )  # fmt: skip


def beyond_histogram(output: FioOutput, step: Step) -> Mapping[Direction, tuple[str, ...]]:
    """The quantiles of a step in the last bucket of fio's histogram, by direction. All that
    is known of them is that they are no shorter than where it begins (`longest_ns`)."""
    parts = _parts(output, declared.declared(step.job))
    beyond: dict[Direction, tuple[str, ...]] = {}
    for direction in _ORDER:
        same = [part for part in parts if part.direction == direction]
        quantiles = _all_quantiles(same)[2] if same else {}
        names = tuple(n for n, ns in quantiles.items() if ns and ns >= same[0].longest_ns)
        if names:
            beyond[direction] = names
    return beyond


def _quantiles(parts: Sequence[_Part]) -> tuple[_Kind | None, int, dict[str, float | None]]:
    """The kind of latency, the number of I/Os that were timed, and the quantiles. One in the last
    bucket of the histogram is none: that holds all longer latencies."""
    kind, timed, quantiles = _all_quantiles(parts)
    longest = parts[0].longest_ns
    return kind, timed, {n: ns if ns and ns < longest else None for n, ns in quantiles.items()}


def _all_quantiles(parts: Sequence[_Part]) -> tuple[_Kind | None, int, dict[str, float | None]]:
    for kind in _KINDS:
        timed = _of_all(parts, kind)
        # Where a job has no histogram the merged one would lack its I/Os, so none is used.
        if timed and all(latency.bins for latency in timed):
            merged = merge(latency.bins for latency in timed)
            values = {name: quantile(merged, p) for name, p in QUANTILES.items()}
            return kind, sum(merged.values()), _clamped(values, _pool(timed))
    if len(parts) == 1:
        for kind in _KINDS:
            for latency in _of_all(parts, kind):
                if latency.percentiles:
                    return kind, latency.samples, _clamped(_printed(latency), latency)
    return None, 0, dict.fromkeys(QUANTILES)


def _clamped(
    quantiles: Mapping[str, float | None], latency: ReportedLatency | None
) -> dict[str, float | None]:
    """Quantiles limited to the exact extremes of their latency."""
    if latency is None:
        return dict(quantiles)
    low, high = latency.min_ns, latency.max_ns
    return {name: within(value, low, high) for name, value in quantiles.items()}


def _printed(latency: ReportedLatency) -> dict[str, float | None]:
    """fio's own percentiles of one job, used where plain json has no histogram."""
    by_fraction = {round(percent / 100, 6): ns for percent, ns in latency.percentiles.items()}
    return {
        name: float(by_fraction[p]) if p in by_fraction and latency.samples >= needed(p) else None
        for name, p in QUANTILES.items()
    }


def _cores(jobs: Sequence[tuple[FioJob, float | None]], wall_ns: int) -> float | None:
    """CPU time of the jobs over wall time, in cores: Σ percentᵢ/100 · job_runtimeᵢ / wall."""
    if not wall_ns or any(percent is None for _, percent in jobs):
        return None
    return sum(
        (percent or 0.0) / 100 * (job.run_ms * 1_000_000 / wall_ns if job.run_ms else 1.0)
        for job, percent in jobs
    )


def _block(part: _Part) -> int | None:
    stated = declared.block_bytes(part.options, part.direction)
    if stated is not None or part.direction == "sync" or not part.stats.ios:
        return stated
    if part.options.get("rw"):
        return None
    return whole_block(part.stats, may_be_mean=declared.is_set(part.options, "group_reporting"))


def whole_block(stats: DirectionStats, *, may_be_mean: bool = False) -> int | None:
    """The block that bytes / I/Os make: exactly, or whole sectors within half a percent, since a
    text rounds bytes, and after a ramp fio counts a few I/Os less; None for several sizes, and
    where I/Os are not counted and their rate, less than one rounded off, is too coarse for that."""
    if not stats.ios or not stats.bytes:
        return None
    block, remainder = divmod(stats.bytes, stats.ios)
    if not remainder and stats.counted and not (may_be_mean and block & (block - 1)):
        return block
    if not stats.counted and stats.ios * _OFF < stats.runtime_ns / NS_PER_S:
        return None
    mean, off = stats.bytes / stats.ios, max(_OFF, stats.rounding / stats.bytes)
    sectors = () if may_be_mean else (round(mean / _SECTOR) * _SECTOR,)
    nearest = (2 ** max(round(math.log2(mean)), 0), *sectors)
    return next((size for size in nearest if size and abs(mean / size - 1) <= off), None)


def _common(values: Iterable[_T]) -> _T | None:
    """The value that all have in common; None where they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None
