"""How busy the processor was while a step ran (MR-12), from fio's own figures and the machine's.

This file reads both; the rules that judge them are in model/processor.py.
"""

from collections.abc import Iterator, Mapping, Sequence

from diskbench.fio.reported import FioJob, FioOutput
from diskbench.model.processor import DOUBT_OF, Processor, SampleSummary, busy_with
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word


def processor_of(
    output: FioOutput | None, rows: Sequence[Measurement], samples: SampleSummary | None
) -> Processor:
    """The processor time that a step used, in shares of a core. fio's percentages are means over
    the jobs of a group, so `busiest_job` is the share of one process."""
    members = {row.job_index: row.jobs for row in rows if row.scope == "job"}
    jobs = output.jobs if output is not None else ()
    busiest = max(jobs, key=lambda job: _share(job) or 0.0, default=None)
    user = busiest.usr_cpu if busiest is not None else None
    return Processor(
        busiest_core=samples.busiest_core if samples else None,
        core_steal=samples.busiest_core_steal if samples else None,
        core_interrupts=samples.busiest_core_interrupts if samples else None,
        steal=samples.steal if samples else None,
        processes=samples.processes if samples else None,
        busiest_job=_share(busiest) if busiest is not None else None,
        job=busiest.name if busiest is not None else "",
        job_user=None if user is None else user / 100,
        all_jobs=_all_jobs(jobs, members),
    )


def processor_warnings(
    output: FioOutput, rows: Sequence[Measurement], samples: SampleSummary | None
) -> Iterator[Warning]:
    """A warning for each user of the processor that filled a core; none where no core was full."""
    for busy in busy_with(processor_of(output, rows, samples)):
        yield DOUBT_OF[busy.worker].warning("; ".join(busy.words))


def _all_jobs(jobs: Sequence[FioJob], members: Mapping[int, int]) -> float | None:
    """Processor time of all jobs, in cores; None where fio lacks the figure of one of them."""
    shares = [(_share(job), members.get(job.index, 1)) for job in jobs]
    if not shares or any(share is None for share, _ in shares):
        return None
    return sum((share or 0.0) * count for share, count in shares)


def _share(job: FioJob) -> float | None:
    if job.usr_cpu is None or job.sys_cpu is None:
        return None
    return (job.usr_cpu + job.sys_cpu) / 100
