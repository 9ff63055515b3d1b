"""Whether the load generator, and not the disk, set the pace of a step (MR-12).

Two accounts are looked at, because each misses what the other sees: a thread that wanders between
cores keeps none of them busy, and fio does not count what the kernel does for it elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diskbench.fio.reported import FioJob, FioOutput
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.model.samples import BUSY_CORE, LITTLE_CPU, STEAL, SampleSummary

_SLOWER_CLIENT = (
    "the disk may be faster than this; use fewer jobs than cores, a larger instance, or larger "
    "blocks, and compare with the null canary"
)
_OTHER_WORK = (
    "look for what else runs there (top), for interrupts bound to one core and for encryption "
    "below the target, and repeat"
)
_OTHER_TENANT = "another tenant used the processor: repeat on another machine"


@dataclass(frozen=True, slots=True)
class _Reason:
    message: str
    advice: str


def client_bound(
    output: FioOutput, rows: Sequence[Measurement], samples: SampleSummary | None
) -> Warning | None:
    """The one warning of a step about its load generator; None where there is nothing to doubt."""
    members = {row.job_index: row.jobs for row in rows if row.scope == "job"}
    found = [
        reason
        for reason in (
            _busy_core(output, members, samples),
            _busy_job(output, members),
            _steal(samples),
        )
        if reason
    ]
    if not found:
        return None
    return Warning(
        code="client-bound",
        message="; ".join(reason.message for reason in found),
        advice="; ".join(dict.fromkeys(reason.advice for reason in found)),
    )


def client_shares(
    output: FioOutput, rows: Sequence[Measurement]
) -> tuple[float | None, float | None]:
    """What the busiest process of fio used of a core by its own account, and all of them together
    in cores; None where fio does not say it."""
    members = {row.job_index: row.jobs for row in rows if row.scope == "job"}
    shares = [share for job in output.jobs if (share := _share(job)) is not None]
    return max(shares, default=None), _all_jobs(output, members)


def _busy_core(
    output: FioOutput, members: Mapping[int, int], samples: SampleSummary | None
) -> _Reason | None:
    busiest = samples.busiest_core if samples else None
    if busiest is None or busiest < BUSY_CORE:
        return None
    told = f"the busiest core was {percent(busiest)} busy (limit {percent(BUSY_CORE)})"
    cores = _all_jobs(output, members)
    if cores is None or cores >= LITTLE_CPU:
        return _Reason(told, _SLOWER_CLIENT)
    return _Reason(
        f"{told}, but fio's jobs together used {percent(cores)} of a core: something else "
        "on the machine was busy",
        _OTHER_WORK,
    )


def _busy_job(output: FioOutput, members: Mapping[int, int]) -> _Reason | None:
    """The job that used most of a core by fio's own account, if that is too much.

    fio's percentages are means over the members of a group, so this is one job's share.
    """
    shares = [(_share(job) or 0.0, job) for job in output.jobs]
    share, job = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if job is None or share < BUSY_CORE:
        return None
    jobs = members.get(job.index, 1)
    each = f" in each of its {jobs} processes" if jobs > 1 else ""
    return _Reason(
        f"fio's job {job.name} used {percent(share)} of a core{each} (limit {percent(BUSY_CORE)})",
        _SLOWER_CLIENT,
    )


def _steal(samples: SampleSummary | None) -> _Reason | None:
    steal = samples.steal if samples else None
    if steal is None or steal < STEAL:
        return None
    return _Reason(
        f"the hypervisor took {percent(steal)} of the processor time (limit {percent(STEAL)})",
        _OTHER_TENANT,
    )


def _all_jobs(output: FioOutput, members: Mapping[int, int]) -> float | None:
    """What all jobs used together, in cores; None where fio does not say it of each."""
    shares = [(_share(job), members.get(job.index, 1)) for job in output.jobs]
    if not shares or any(share is None for share, _ in shares):
        return None
    return sum((share or 0.0) * jobs for share, jobs in shares)


def _share(job: FioJob) -> float | None:
    if job.usr_cpu is None or job.sys_cpu is None:
        return None
    return (job.usr_cpu + job.sys_cpu) / 100


def percent(fraction: float) -> str:
    """A fraction for a person: `95 %`, `2.4 %`."""
    value = fraction * 100
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.1f} %"
