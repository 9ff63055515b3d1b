"""The checks of a step and its files: each raises a doubt (model/doubts.py) and states its figures.
They stand in CHECKS; docs/METHOD.md, "Reasons to doubt", lists when each is raised.

The thresholds are our choice unless a source is named. A warning never changes or drops a number.
How busy the processor was while a step ran (MR-12) is read here; model/processor.py has the rules.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from diskbench.fio.audit import ONE_AT_A_TIME, audit_output, audit_warnings
from diskbench.fio.company import company_doubts
from diskbench.fio.declared import Case, iodepth, is_direct, is_set
from diskbench.fio.device import cache_doubts, memory_doubts, too_fast_doubts
from diskbench.fio.estimate import fill_doubts
from diskbench.fio.histogram import longest_ns
from diskbench.fio.offered import saturation_doubts
from diskbench.fio.recorded import canary_doubts, clock_doubts, kept_cache_doubts, left_out_doubts
from diskbench.fio.reported import FioJob, FioOutput, miscounts
from diskbench.fio.rows import beyond_histogram
from diskbench.model.doubts import (
    CLOCK,
    DEGRADED_OUTPUT,
    FIO_ERROR,
    HISTOGRAM_END,
    NETWORK_FILESYSTEM,
    NO_IO,
    QUEUE_NOT_FILLED,
    SAME_TIME,
    SHORT_IOS,
    TOO_SHORT,
    UNLIKE_TIMES,
)
from diskbench.model.facts import HostFacts
from diskbench.model.processor import DOUBT_OF, MachineUse, busy_with, percent
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Step
from diskbench.units import NS_PER_S

FULL_DEPTH_SHARE = 0.50
SHORTEST_S = 2.0
FEWEST_IOS = 100
CLOCK_S = 1.0
_DEEPEST_LEVEL = 64
"""fio counts all depths from 64 up as one (stat.h, FIO_IO_U_MAP_NR)."""

_UNEVEN = (
    "rate", "rate_iops", "rate_process", "thinktime", "latency_target", "iodepth_low",
    "iodepth_batch", "iodepth_batch_complete_min", "iodepth_batch_complete_max",
)  # fmt: skip
"""Options with which a queue is not kept full on purpose."""


def step_warnings(
    step: Step,
    rows: Sequence[Measurement],
    output: FioOutput,
    facts: HostFacts,
    samples: MachineUse | None,
    files: Mapping[str, bytes] | None = None,
) -> tuple[Warning, ...]:
    """The doubts in one step. `samples` is None where the machine was not sampled, `files` are the
    step's evidence (name → bytes), None for an import."""
    case = Case(step, rows, output, facts, samples, files or {})
    doubts = (doubt for check in CHECKS for doubt in check(case))
    return tuple(doubt.model_copy(update={"step": step.name}) for doubt in doubts)


def _errors(case: Case) -> Iterator[Warning]:
    for job, options in case.jobs:
        code = job.error or job.first_error
        if code:
            counted = f" ({job.total_errors:,} errors in all)" if job.total_errors else ""
            yield FIO_ERROR.warning(
                f"job {job.name} ended with error {code}: "
                f"{os.strerror(code) if code < 4096 else 'not an error number of Linux'}{counted}"
            )
        # With unified_rw_reporting syncs that fio counted as short I/Os cannot be separated.
        unified = "mixed" in job.directions and miscounts(options)
        short = 0 if unified else sum(stats.short_ios for stats in job.directions.values())
        if short:
            yield SHORT_IOS.warning(
                f"job {job.name}: {short:,} of {job.ios:,} I/Os moved fewer bytes than asked"
            )
        sync = job.directions.get("sync")
        if not code and job.ios == 0 and not (sync and sync.ios):
            yield NO_IO.warning(f"job {job.name} did no I/O")


def _notes(case: Case) -> Iterator[Warning]:
    if damage := case.output.damage:
        yield DEGRADED_OUTPUT.warning(f"{case.output.where}: {'; '.join(damage)}")


def _audit(case: Case) -> Sequence[Warning]:
    checks = audit_output(case.output, case.sections, end_known=bool(case.step.job))
    return audit_warnings(checks, case.step.name)


def _queue(case: Case) -> Iterator[Warning]:
    for job, options in case.jobs:
        depth = iodepth(options) or 1
        engine = options.get("ioengine", "psync")
        if depth > 1 and engine == "libaio" and is_direct(job, case.output, case.sections) is False:
            yield QUEUE_NOT_FILLED.warning(
                f"job {job.name} asked for a queue depth of {depth} without direct=1: Linux starts "
                "buffered I/O of libaio one by one, so the queue depth at the disk is unknown"
            )
            return
        if depth < 2 or not job.depth_levels or any(is_set(options, name) for name in _UNEVEN):
            continue
        level = min(1 << (depth.bit_length() - 1), _DEEPEST_LEVEL)
        share = sum(p for at, p in job.depth_levels.items() if at >= level) / 100
        if job.ios and share < FULL_DEPTH_SHARE:
            kind = "a synchronous engine" if engine in ONE_AT_A_TIME else "an engine of threads"
            yield QUEUE_NOT_FILLED.warning(
                f"job {job.name} asked for a queue depth of {depth}, but "
                f"{percent(share)} of its I/Os were issued at {level} or deeper",
                advice=f"{engine} is {kind}: use libaio or io_uring with direct=1, or numjobs"
                if engine in (*ONE_AT_A_TIME, "posixaio")
                else "use direct=1, or numjobs",
            )
            return


def _target(case: Case) -> Iterator[Warning]:
    if case.facts.network_filesystem:
        kind = case.facts.mount.fstype if case.facts.mount else "network"
        yield NETWORK_FILESYSTEM.warning(f"the target is on a network filesystem ({kind})")


def _short(case: Case) -> Iterator[Warning]:
    merged = case.merged
    if case.step.role in ("fill", "canary") or not merged:
        return
    seconds = max(row.runtime_ns or 0 for row in merged) / NS_PER_S
    ios = sum(_ios(row) for row in merged)
    reasons = []
    if seconds < SHORTEST_S:
        reasons.append(f"it ran for {seconds:.2f} s (needed: {SHORTEST_S:.0f} s)")
    if ios < FEWEST_IOS:
        reasons.append(f"it did {ios:,} I/Os (needed: {FEWEST_IOS})")
    if reasons:
        timed = all(is_set(options, "time_based") for options in case.options)
        yield TOO_SHORT.warning(
            f"too short for a steady rate: {' and '.join(reasons)}",
            advice="measure for longer: --set runtime=…"
            if timed
            else "measure for longer or with more data: --set runtime=… or --size",
        )


def _unlike_times(case: Case) -> Iterator[Warning]:
    """A doubt where some jobs or directions ran clearly shorter than others, so that the rate over
    the whole time is less than that while all of them ran."""
    ways = (row for row in case.rows if row.scope == "job" and row.direction != "sync")
    jobs = [row for row in ways if row.did_io]
    times = [(row.runtime_ns or 0) / NS_PER_S for row in jobs]
    rates = [row.bytes_per_s or 0.0 for row in jobs]
    longest = max(times, default=0.0)
    if case.step.role in ("fill", "canary") or not longest or not sum(rates):
        return
    over_all = sum(rate * s for rate, s in zip(rates, times, strict=True)) / longest
    if over_all < SAME_TIME * sum(rates):
        least = jobs[times.index(min(times))]
        yield UNLIKE_TIMES.warning(
            f"job {least.job} did its {least.direction}s for {min(times):.3g} s of "
            f"{longest:.3g} s: the figure is the mean over the whole time"
        )


def _ios(row: Measurement) -> int:
    """The I/Os of a row; where fio prints no count, those that its rate makes."""
    return row.ios if row.ios is not None else round((row.iops or 0) * (row.runtime_ns or 0) / 1e9)


def _beyond(case: Case) -> Iterator[Warning]:
    for direction, names in beyond_histogram(case.output, case.step).items():
        first = names[0].removesuffix("_ns").replace("_", ".")
        several = f"{first} and higher" if len(names) > 1 else first
        least = longest_ns(case.output.version_numbers) / NS_PER_S
        yield HISTOGRAM_END.warning(
            f"{several} of {direction} {'are' if len(names) > 1 else 'is'} at least {least:.1f} s: "
            "fio's histogram ends there, so no value is shown"
        )


def _clock(case: Case) -> Iterator[Warning]:
    offset = case.facts.clock_offset_s
    if offset is not None and abs(offset) >= CLOCK_S:
        yield CLOCK.warning(
            f"the host's clock is {abs(offset):.1f} s {'ahead' if offset > 0 else 'behind'}"
            " of this machine's"
        )


def processor_of(
    output: FioOutput | None, rows: Sequence[Measurement], samples: MachineUse | None
) -> MachineUse:
    """The processor time that a step used, in shares of a core. fio's percentages are means over
    the jobs of a group, so `busiest_job` is the share of one process."""
    members = {row.job_index: row.jobs for row in rows if row.scope == "job"}
    jobs = output.jobs if output is not None else ()
    busiest = max(jobs, key=lambda job: _share(job) or 0.0, default=None)
    user = busiest.usr_cpu if busiest is not None else None
    shares = [(_share(job), members.get(job.index, 1)) for job in jobs]
    return replace(
        samples or MachineUse(),
        busiest_job=_share(busiest) if busiest is not None else None,
        job=busiest.name if busiest is not None else "",
        job_user=None if user is None else user / 100,
        # None where fio lacks the figure of one of them
        all_jobs=sum((share or 0.0) * count for share, count in shares)
        if shares and all(share is not None for share, _ in shares)
        else None,
    )


def _processor(case: Case) -> Iterator[Warning]:
    """A warning for each user of the processor that filled a core; none where no core was full."""
    if case.step.role == "canary":
        return
    causes = busy_with(processor_of(case.output, case.rows, case.samples))
    for worker, words in causes.items():
        yield DOUBT_OF[worker].warning("; ".join(words))


def _share(job: FioJob) -> float | None:
    if job.usr_cpu is None or job.sys_cpu is None:
        return None
    return (job.usr_cpu + job.sys_cpu) / 100


CHECKS: Final[tuple[Callable[[Case], Iterable[Warning]], ...]] = (
    _errors, _notes, _audit, _processor, cache_doubts, memory_doubts, too_fast_doubts, _queue,
    _target, _short, _unlike_times, _beyond, _clock, saturation_doubts, kept_cache_doubts,
    fill_doubts, clock_doubts, canary_doubts, left_out_doubts, company_doubts,
)  # fmt: skip
"""The checks in the order in which their doubts are listed."""
