"""The last of several reports in one stream: fio repeats all jobs with --status-interval."""

from collections.abc import Sequence

from diskbench.fio.reported import FioJob

_LEAST_NS = 500_000_000
"""fio reports at intervals of 1 s and more; clones differ in run time by milliseconds."""


def last_pass(jobs: Sequence[FioJob]) -> tuple[tuple[FioJob, ...], int]:
    """The jobs of the last report, and how many reports there are.

    Reports are cumulative. So jobs are taken for repetitions only if the same names and groups come
    again in the same order, no count ever falls, and run time and I/Os grow from the first to the
    second as an interval lets them. Clones (numjobs) have one name, too, but end together.
    """
    keys = [(job.name, job.group, job.host) for job in jobs]
    if len(set(keys)) == len(keys):
        return tuple(jobs), 1
    period = keys.index(keys[0], 1) if keys.count(keys[0]) > 1 else len(keys)
    while period < len(keys):
        if len(keys) % period == 0 and _repeats(jobs, keys, period):
            return tuple(jobs[-period:]), len(keys) // period
        try:
            period = keys.index(keys[0], period + 1)
        except ValueError:
            break
        if period > len(keys) // 2:
            break
    return tuple(jobs), 1


def _repeats(jobs: Sequence[FioJob], keys: Sequence[object], period: int) -> bool:
    if any(keys[at] != keys[at % period] for at in range(len(keys))):
        return False
    for at in range(period, len(jobs)):
        before, after = jobs[at - period], jobs[at]
        if after.ios < before.ios or _ran(after) < _ran(before):
            return False
    first, second = jobs[:period], jobs[period : 2 * period]
    grown = sum(map(_ran, second)) - sum(map(_ran, first))
    return grown >= _LEAST_NS and sum(j.ios for j in second) > sum(j.ios for j in first)


def _ran(job: FioJob) -> int:
    return max((stats.runtime_ns for stats in job.directions.values()), default=0)
