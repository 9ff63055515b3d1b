"""Whether the figures of one step agree with each other, of every import and of every run; and
whether consecutive runs of a step do (docs/METHOD.md, `figures-disagree` and `runs-disagree`).

Of a ramp_time fio counts the bytes of the I/Os that were under way at its end, but not the I/Os
(fio 3.7 to 3.42); of SPRandom not the bytes of those under way when it has no more blocks to write
(fio 3.41 sets td->done first, io_u.c: 63 of 18,789 I/Os at iodepth 64); fio before 3.2 rounds bytes
down to KiB, fio 2 IOPS to whole ones, and a text to a few digits. The logs are a little late, and
each window counts as a whole second. A check that cannot be made (no block size, no log) neither
passes nor fails. The limits are ours.

Of runs the coefficient of variation counts, whatever their number: of nine or fewer the standard
deviation over the median, else half the distance of the 10th and 90th percentile over 1.28 times
the median, which one odd run does not move; by the lower end of its 95 % interval, as for normal
figures: variation · √((n - 1) / χ²(0.975; n - 1)), with χ² by Wilson and Hilferty (1931). Runs
disagree from 3 % on, which three runs 10 % apart are. A range would grow with the number of runs:
with a variation of 2 % it is above 10 % in 1 % of ten runs and 82 % of 215.
"""

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

from diskbench.fio.declared import (
    Options,
    blocks_text,
    directions_of,
    iodepth,
    is_grouped,
    is_set,
    numjobs,
    options_of,
)
from diskbench.fio.numbers import seconds_of, sizes_of
from diskbench.fio.reported import DirectionStats, FioJob, FioOutput
from diskbench.model.doubts import FIGURES_DISAGREE, RUNS_DISAGREE
from diskbench.model.processor import percent
from diskbench.model.result import (
    AuditCheck,
    AuditName,
    Direction,
    Measurement,
    Warning,  # noqa: A004 - the field's word
)
from diskbench.units import KIB, NS_PER_S, format_iops, format_mb_per_s

RATE_SHARE = 0.01
LOGS_SHARE = 0.05
_LEAST_RATE = 1.0
"""IOPS, which fio 2 rounds to whole numbers. For bandwidth the least is 2 KiB/s."""
_KIB = 1024
_ROUNDED_NS = 10_000.0
"""A text prints latencies of 1 s and more in hundredths of a millisecond."""
_COUNTS_BYTES = (3, 2)
_POSITIONS: tuple[Direction, ...] = ("read", "write", "trim")
_FROM_ELSEWHERE = ("read_iolog", "profile")
"""Options with which the I/O sizes do not come from the job's block size."""
ONE_AT_A_TIME = frozenset(
    ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "falloc", "ftruncate")
)
"""Engines that wait for each I/O; what fio uses where none is given differs between systems."""
_SUMS = {"iops": "I/Os", "bytes_per_s": "bytes"}


def audit_output(
    output: FioOutput, sections: Mapping[str, Options], *, end_known: bool
) -> tuple[AuditCheck, ...]:
    """The checks that fio's JSON alone allows, in order. `end_known`: diskbench itself recorded the
    end of fio."""
    ended = not output.interim and (end_known or output.timestamp_ms is not None)
    end = "the document has no time, so it is unknown when fio ended"
    if output.interim:
        end = "fio's last document is incomplete, so it is unknown when it ended"
    elif ended:
        end = "the end of fio is known"
    unsaid = output.timeless and not ended and not output.interim
    return (
        _check("bytes", _bytes(output, sections), "bytes are I/Os times block"),
        _check("rate", _rates(output), "rates times runtime are the I/Os and bytes"),
        _check("percentiles", _percentiles(output), "percentiles rise"),
        AuditCheck(name="end", holds=None if unsaid else ended, message=end),
    )


def audit_logs(
    sums: Mapping[tuple[Direction, str], float],
    totals: Mapping[tuple[Direction, str], float],
    runtime_s: Mapping[Direction, float],
) -> AuditCheck:
    """Whether the logs (sums of `iops` and `bytes_per_s` by direction) agree with the JSON."""
    return _check("logs", _logs(sums, totals, runtime_s), "the logs sum up to the JSON")


def audit_warnings(checks: Iterable[AuditCheck], step: str) -> tuple[Warning, ...]:
    """A doubt for each check that failed; its message names the figure."""
    return tuple(
        FIGURES_DISAGREE.warning(f"{check.name}: {check.message}", step=step)
        for check in checks
        if check.holds is False
    )


def _check(name: AuditName, results: Iterator[str | None], holds: str) -> AuditCheck:
    """The result of one check. `results` has a value for each comparison: None where it held, else
    what is wrong. The message names the first failure and counts the others."""
    outcomes = list(results)
    failures = [outcome for outcome in outcomes if outcome is not None]
    if not outcomes:
        return AuditCheck(name=name, holds=None, message="the evidence does not say")
    if not failures:
        return AuditCheck(name=name, holds=True, message=holds)
    more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
    return AuditCheck(name=name, holds=False, message=failures[0] + more)


def _measured(output: FioOutput) -> Iterator[tuple[FioJob, Direction, DirectionStats]]:
    for job in output.jobs:
        for direction, stats in job.directions.items():
            if direction != "sync" and stats.ios:
                yield job, direction, stats


def _bytes(output: FioOutput, sections: Mapping[str, Options]) -> Iterator[str | None]:
    if output.interim:  # fio counts an I/O and its bytes one after the other
        return
    for job, direction, stats in _measured(output):
        sizes = [
            size
            for options in _behind(job, output, sections)
            for size in block_sizes(options, direction) or (0,)
        ]
        if not sizes or 0 in sizes:
            continue
        least, most = min(sizes), max(sizes)
        options = options_of(job, output, sections)
        failed = max(job.total_errors, numjobs(options) if job.error else 0)
        sprandom = _under_way(options) if is_set(options, "sprandom") else 0
        partly = stats.short_ios + failed + sprandom
        partly += _at_clearing(job, output, sections, "latency_target")
        rounded = _KIB if output.version_numbers < _COUNTS_BYTES else 0
        rounded = max(rounded, stats.rounding)
        unsure = 0 if stats.counted else math.ceil(stats.ios * stats.rate_off)
        low = max(stats.ios - partly - unsure, 0) * least - rounded
        more = stats.short_ios + unsure
        more += _at_clearing(job, output, sections, "ramp_time", "latency_target")
        high = (stats.ios + more) * most + rounded
        if low <= stats.bytes <= high:
            yield None
            continue
        block = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        yield (
            f"job {job.name} counts {stats.bytes:,} bytes of {direction} and {stats.ios:,} I/Os "
            f"of {block} bytes, which make {stats.ios * (least if stats.bytes < low else most):,}"
        )


def _at_clearing(job: FioJob, output: FioOutput, sections: Mapping[str, Options], *by: str) -> int:
    """I/Os that an entry may count with their bytes alone, or without: those that were under way
    when fio cleared its counts, up to `iodepth` of each job. It does so at the end of ramp_time,
    where the bytes stay, and at each step of latency_target. 0 without the options `by`; a format
    that lists no options may have had one."""
    under_way = 0
    for options in _behind(job, output, sections):
        clears = any(seconds_of(options.get(name, "0")) or 0.0 for name in by)
        waits = options.get("ioengine", "").lower() in ONE_AT_A_TIME
        if (clears or not (sections or output.lists_options)) and not (
            waits and options.get("io_submit_mode") != "offload"
        ):
            under_way += _under_way(options)
    return under_way


def _under_way(options: Options) -> int:
    return (iodepth(options) or 1) * numjobs(options)


def _behind(job: FioJob, output: FioOutput, sections: Mapping[str, Options]) -> tuple[Options, ...]:
    """The options of all sections that an entry sums up; empty where they are not known.

    With group_reporting an entry may sum up several sections, and fio names only the first. The job
    file has all of them. Without a job file the number of jobs is derived from their run time
    (runs of 1 s or more): if it equals the clones of the named section, there is no other section.
    """
    options = options_of(job, output, sections)
    if not is_grouped(job, output, options):
        return (options,)
    if sections:
        return tuple(sections.values())
    wall_ns = max(stats.runtime_ns for stats in job.directions.values())
    ran = round((job.run_ms or 0) * 1_000_000 / wall_ns) if wall_ns >= NS_PER_S else 0
    return (options,) if ran == numjobs(options) else ()


def block_sizes(options: Options, direction: Direction) -> tuple[int, ...]:
    """The I/O sizes that a job may use in a direction, in bytes; callers use the smallest and the
    largest. Empty where the options do not say, or the job does no I/O in that direction."""
    asked = directions_of(options)
    kinds = asked if direction == "mixed" else (direction,)
    if not asked or not set(kinds) <= set(asked) or any(o in options for o in _FROM_ELSEWHERE):
        return ()
    parts = [part.strip() for part in blocks_text(options).split(",")]
    if options.get("bs_is_seq_rand", "0") != "0":
        chosen = parts
    else:
        places = [_POSITIONS.index(kind) for kind in kinds]
        chosen = [parts[place] if place < len(parts) else parts[-1] for place in places]
    sizes = [size for part in chosen for size in sizes_of(part)]
    return () if None in sizes else tuple(size for size in sizes if size is not None)


def _rates(output: FioOutput) -> Iterator[str | None]:
    for job, direction, stats in _measured(output):
        seconds = stats.runtime_ns / NS_PER_S
        if not seconds:
            continue
        for rate, total, least, unit in (
            (stats.iops, stats.ios, _LEAST_RATE, "IOPS"),
            (stats.bytes_per_s, stats.bytes, _KIB * 2.0, "bytes/s"),
        ):
            if rate is None:
                continue
            off = max(RATE_SHARE, stats.rate_off) * total / seconds
            if abs(rate - total / seconds) <= max(off, least):
                yield None
                continue
            counted = "I/Os" if unit == "IOPS" else "bytes"
            yield (
                f"job {job.name} reports {rate:,.0f} {unit} of {direction} in {seconds:,.3f} s, "
                f"and of {total:,} {counted}, which are {total / seconds:,.0f} {unit}"
            )


def _percentiles(output: FioOutput) -> Iterator[str | None]:
    for job, direction, stats in _measured(output):
        for kind in ("lat", "clat", "slat"):
            latency = getattr(stats, kind)
            if latency is None or len(latency.percentiles) < 2:
                continue
            pairs = itertools.pairwise(sorted(latency.percentiles.items()))
            falling = (
                f"job {job.name}, {kind} of {direction}: p{high:g} is {after:,} ns, "
                f"less than p{low:g} with {before:,} ns"
                for (low, before), (high, after) in pairs
                if after < before
            )
            yield next(falling, None)
        if stats.lat is None or stats.clat is None:
            continue
        lat_ns, clat_ns = stats.lat.mean_ns, stats.clat.mean_ns
        if clat_ns <= lat_ns * (1 + RATE_SHARE) + _ROUNDED_NS:
            yield None
            continue
        yield (
            f"job {job.name}: clat of {direction} is {clat_ns:,.0f} ns on average, longer than "
            f"lat ({lat_ns:,.0f} ns), which includes it"
        )


def _logs(
    sums: Mapping[tuple[Direction, str], float],
    totals: Mapping[tuple[Direction, str], float],
    runtime_s: Mapping[Direction, float],
) -> Iterator[str | None]:
    for (direction, column), logged in sums.items():
        total = totals.get((direction, column))
        seconds = runtime_s.get(direction, 0.0)
        if total is None or not seconds:
            continue
        if abs(logged - total) <= LOGS_SHARE * total + total / max(seconds, 1.0):
            yield None
            continue
        yield (
            f"the logs sum up to {logged:,.0f} {_SUMS[column]} of {direction}, "
            f"the JSON counts {total:,.0f}"
        )


LEAST_VARIATION = 0.03
"""Our choice."""
FAR_APART = 0.25
"""From here on no run stands for the others; our choice."""
_FEW = 10
_Q90 = 1.2816
_Z = 1.96
_SHOWN_AS_BYTES = 64 * KIB - 1


def run_warnings(runs: Sequence[Sequence[Measurement]]) -> tuple[Warning, ...]:
    """Return a warning for each step in which consecutive runs disagree.

    `runs` holds the rows of each run. Only merged rows are compared, by step, round and direction;
    one run alone gives no warning.
    """
    values: dict[tuple[int, str, str], list[Measurement]] = {}
    for rows in runs:
        for row in rows:
            if row.scope == "step" and row.role != "fill" and row.iops is not None:
                values.setdefault((row.step_index, row.step, row.direction), []).append(row)
    warnings = []
    for (_, name, direction), of_runs in sorted(values.items(), key=lambda entry: entry[0]):
        iops = [row.iops for row in of_runs if row.iops is not None]
        least = least_variation(iops)
        if least is not None and least >= LEAST_VARIATION:
            low, high = iops.index(min(iops)), iops.index(max(iops))
            warnings.append(
                RUNS_DISAGREE.warning(
                    f"the {direction} rates of {len(iops)} runs range from {_shown(of_runs[low])} "
                    f"(run {low + 1}) to {_shown(of_runs[high])} (run {high + 1}); they vary by "
                    f"at least {percent(least)}, even allowing for noise",
                    step=name,
                )
            )
    return tuple(warnings)


def _shown(row: Measurement) -> str:
    """The rate in the unit in which the table of verdicts shows such blocks."""
    if row.bytes_per_s is not None and row.iops and row.bytes_per_s / row.iops >= _SHOWN_AS_BYTES:
        return f"{format_mb_per_s(row.bytes_per_s)} MB/s"
    return f"{format_iops(row.iops or 0.0)} IOPS"


def least_variation(values: Sequence[float]) -> float | None:
    """Return the lower end of the 95 % interval of the coefficient of variation; None below two
    values or for a median of 0."""
    n = len(values)
    if n < 2 or (middle := statistics.median(values)) <= 0:
        return None
    if n < _FEW:
        sigma = statistics.stdev(values)
    else:
        tenths = statistics.quantiles(values, n=10, method="inclusive")
        sigma = (tenths[-1] - tenths[0]) / (2 * _Q90)
    free = n - 1
    chi_squared = free * (1 - 2 / (9 * free) + _Z * math.sqrt(2 / (9 * free))) ** 3
    return sigma / middle * math.sqrt(free / chi_squared)
