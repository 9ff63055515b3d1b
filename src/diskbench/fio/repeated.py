"""Which of several reports are of one fio: with --status-interval it reports again and again, each
time all that was done so far. The last of these counts; reports of other runs count each.

Documents tell by their times, terse lines by what grows, a text by its processes (text_head.py).
"""

from collections.abc import Sequence

from diskbench.fio.reported import FioJob, FioOutput
from diskbench.model.result import Direction
from diskbench.units import NS_PER_S

_SURE_S = 4
"""From this run time on, the times in two documents tell one process from the next: fio writes the
time of its end, and whole seconds (rounded up) since its begin."""
_LEAST_S = 0.5
"""fio reports at intervals of 1 s and more; repeated runs differ in run time by milliseconds."""


def jobs_of(output: FioOutput) -> object:
    """What all documents of one fio have in common."""
    jobs = ((*_key(job), tuple(sorted(job.options.items()))) for job in output.jobs)
    return output.version, tuple(sorted(output.options.items())), tuple(jobs)


def continues(before: FioOutput, after: FioOutput) -> bool:
    """Whether `after` can be a later report of the fio that wrote `before`, which has the same jobs
    and options.

    Its jobs began at the same time (fio 3.36 and later), or the time between the two is the time by
    which the process grew older: the next process of a loop begins at 0. Of processes of a few
    seconds, whose age is too coarse, run time must have grown as the clock did.
    """
    pairs = list(zip(before.jobs, after.jobs, strict=True))
    if all(old.directions == new.directions for old, new in pairs):
        return before.begun_ms == after.begun_ms and _aged_alike(before, after) is not False
    begun = [(old.start_ms, new.start_ms) for old, new in pairs if old.start_ms and new.start_ms]
    if begun:
        return all(old == new for old, new in begun)
    if before.begun_ms != after.begun_ms:
        return False
    if falls(before.jobs, after.jobs) and not any("ramp_time" in job.options for job in after.jobs):
        return False  # fio counts anew when a ramp ends, and only then
    apart_s, grown_s = _apart_s(before, after), _grown_s(before.jobs, after.jobs)
    if apart_s is None:
        return grown_s >= _LEAST_S and _ios(after) > _ios(before)
    aged = _aged_alike(before, after)
    if aged is False or apart_s < 0:
        return False
    not_begun = any(not job.ios for job in before.jobs)
    if aged and apart_s >= 1 and (not_begun or _age_s(before) >= _SURE_S):
        return True
    coarse = 1.0 if apart_s == int(apart_s) else 0.1
    return abs(apart_s - grown_s) <= 0.2 * apart_s + coarse


def _aged_alike(before: FioOutput, after: FioOutput) -> bool | None:
    """Whether the process grew older by the time between two documents; None where unknown."""
    apart_s, old, new = _apart_s(before, after), _age_s(before), _age_s(after)
    if apart_s is None or not old or not new:
        return None
    coarse = 2.0 if apart_s == int(apart_s) else 1.0
    return new >= old and abs(apart_s - (new - old)) <= coarse


def _apart_s(before: FioOutput, after: FioOutput) -> float | None:
    if before.timestamp_ms is None or after.timestamp_ms is None:
        return None
    return (after.timestamp_ms - before.timestamp_ms) / 1000


def _age_s(output: FioOutput) -> int:
    return max((job.elapsed_s or 0 for job in output.jobs), default=0)


def _ios(output: FioOutput) -> int:
    return sum(job.ios for job in output.jobs)


# --- What has no time: terse lines


def last_reports(reports: Sequence[Sequence[FioJob]]) -> list[tuple[int, int]]:
    """The place of the last report of each run among reports in order, and how many it has.

    Reports are cumulative. So one is taken for a repetition only if it has the same names and
    groups in the same order, no count falls, and run time grows as an interval lets it. The report
    at the end may come soon after the one before: then the latencies have the same extremes.
    """
    runs: list[tuple[int, int]] = []
    for at, jobs in enumerate(reports):
        if runs and _repeats(reports[runs[-1][0]], jobs, reported=runs[-1][1]):
            runs[-1] = (at, runs[-1][1] + 1)
        else:
            runs.append((at, 1))
    return runs


def periods(jobs: Sequence[FioJob]) -> list[list[FioJob]]:
    """Reports in a row of lines that nothing separates; one, where they do not repeat each other.
    Clones (numjobs) have one name, too, but end together."""
    keys = list(map(_key, jobs))
    for period in range(1, len(keys) // 2 + 1):
        if len(keys) % period or keys[period] != keys[0] or keys[period:] != keys[:-period]:
            continue
        parts = [list(jobs[at : at + period]) for at in range(0, len(jobs), period)]
        if len(last_reports(parts)) == 1 and _grown_s(parts[0], parts[-1]) >= _LEAST_S:
            return parts
    return [list(jobs)]


def _repeats(before: Sequence[FioJob], after: Sequence[FioJob], *, reported: int) -> bool:
    if list(map(_key, before)) != list(map(_key, after)) or falls(before, after):
        return False
    if all(old.directions == new.directions for old, new in zip(before, after, strict=True)):
        return True  # all had ended
    if _grown_s(before, after) >= _LEAST_S or reported > 1:
        return True
    return list(map(_extremes, before)) == list(map(_extremes, after))


def _extremes(job: FioJob) -> object:
    return [(stats.lat.min_ns, stats.lat.max_ns) for stats in job.directions.values() if stats.lat]


def _key(job: FioJob) -> tuple[str, int, str | None]:
    return job.name, job.group, job.host


def last_is_used(reports: int) -> str:
    """What is said of the last of several reports of one fio."""
    return f"{reports} reports (--status-interval): the last one is used"


# --- Growth


def falls(before: Sequence[FioJob], after: Sequence[FioJob]) -> bool:
    """Whether a count or a run time of the same jobs is less than it was, or I/Os came without
    time."""
    return any(
        any(_ios_of(new, way) < _ios_of(old, way) for way in old.directions)
        or _ran_ns(new) < _ran_ns(old)
        or (_ran_ns(new) == _ran_ns(old) and new.ios != old.ios)
        for old, new in zip(before, after, strict=True)
    )


def _ios_of(job: FioJob, way: Direction) -> int:
    stats = job.directions.get(way)
    return stats.ios if stats is not None else 0


def _grown_s(before: Sequence[FioJob], after: Sequence[FioJob]) -> float:
    """By how much the longest run time of the jobs grew."""
    grown = (_ran_ns(new) - _ran_ns(old) for old, new in zip(before, after, strict=True))
    return max(grown, default=0) / NS_PER_S


def _ran_ns(job: FioJob) -> int:
    return max((stats.runtime_ns for stats in job.directions.values()), default=0)
