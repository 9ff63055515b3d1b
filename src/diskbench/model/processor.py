"""What the machine did while a step ran (MR-12), and what kept the load generator's processor busy.

What kept it busy: two sources are used, because each misses what the other sees: the kernel's
counters of every core, and fio's CPU time of its jobs (usr_cpu + sys_cpu). With a core at its limit
(BUSY_CORE):

    interrupts   half or more of its busy time was irq and softirq
    steal        half or more of it was taken by the hypervisor; or STEAL of all processor time was
    process      all jobs of fio together used less than LITTLE_CPU of a core; or no job used so
                 much of one, and other processes together as much as fills one
    generator    else: fio itself, or it is not known what fio used

A job of fio at BUSY_CORE of a core is the generator's, whatever the cores say: its threads may
wander between them. Only `generator` is the load generator at its limit (MR-12).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from diskbench.model.doubts import CLIENT_BOUND, CPU_STOLEN, INTERRUPTS, MACHINE_BUSY, Doubt

BUSY_CORE = 0.90
"""Of a step's time: from there on the busiest core, or one job of fio, may have set the pace."""
STEAL = 0.02
"""Of the processor time, taken by a hypervisor. Both are MR-12's, which has no source for them."""
LITTLE_CPU = 0.50
"""Of one core, all fio jobs together: with less than this it was not they that filled a core."""


Worker = Literal["generator", "process", "interrupts", "steal"]

DOUBT_OF: dict[Worker, Doubt] = {
    "generator": CLIENT_BOUND,
    "process": MACHINE_BUSY,
    "interrupts": INTERRUPTS,
    "steal": CPU_STOLEN,
}
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class MachineUse:
    """What the machine did during one step, by its own counters and by fio's account of its jobs;
    None where it was not counted.

    `busiest_core`, and `core_steal` and `core_interrupts` (irq and softirq) of the same core, are
    fractions of the step's time (0.9 = 90 %); `steal` is a fraction of the time of all cores. In
    cores: `busiest_job` is one process of fio by its own account (its name is `job`), of which
    `job_user` in user mode, `all_jobs` all of fio together, `processes` all that was neither idle,
    interrupts nor steal. `device_*` are differences of the device's counters (/proc/diskstats).
    """

    busiest_core: float | None = None
    core_steal: float | None = None
    core_interrupts: float | None = None
    steal: float | None = None
    processes: float | None = None
    device_read_ios: int | None = None
    device_write_ios: int | None = None
    device_read_bytes: int | None = None
    device_write_bytes: int | None = None
    busiest_job: float | None = None
    job_user: float | None = None
    job: str = ""
    all_jobs: float | None = None

    @property
    def others(self) -> float | None:
        """The use by processes and kernel threads other than fio's, in cores."""
        if self.processes is None or self.all_jobs is None:
            return None
        return max(0.0, self.processes - self.all_jobs)


def busy_with(processor: MachineUse) -> dict[Worker, tuple[str, ...]]:
    """Return the causes of a busy processor, the load generator first, each with the figures that
    show it, a clause each; empty if it had time left."""
    evidence: dict[Worker, list[str]] = {}
    core = processor.busiest_core
    if core is not None and core >= BUSY_CORE:
        whose, words = _of_core(processor, core)
        busy = f"the busiest core was {percent(core)} busy (limit {percent(BUSY_CORE)})"
        evidence[whose] = [busy, *words]
    if _is_job_busy(processor):
        evidence.setdefault("generator", []).append(_job_words(processor))
    if processor.steal is not None and processor.steal >= STEAL:
        taken = f"the hypervisor took {percent(processor.steal)} of the processor time"
        evidence.setdefault("steal", []).append(f"{taken} (limit {percent(STEAL)})")
    order: tuple[Worker, ...] = ("generator", "interrupts", "process", "steal")
    return {of: tuple(evidence[of]) for of in order if of in evidence}


def busiest(processors: Iterable[MachineUse]) -> MachineUse:
    """Of several rounds of a step the one whose processor had least time left; the load generator
    at its limit comes before anything else that was."""

    def key(processor: MachineUse) -> tuple[bool, bool, float, float]:
        workers = busy_with(processor)
        most = processor.busiest_core or processor.busiest_job or 0.0
        return "generator" in workers, bool(workers), most, processor.steal or 0.0

    return max(processors, key=key, default=MachineUse())


def percent(fraction: float) -> str:
    """A fraction for a person: `95 %`, `2.4 %`."""
    value = fraction * 100
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.1f} %"


def _of_core(processor: MachineUse, core: float) -> tuple[Worker, list[str]]:
    """Return the work that filled the busiest core, with figures in addition to the core's."""
    if (processor.core_interrupts or 0.0) >= _MOST * core:
        share = percent(processor.core_interrupts or 0.0)
        return "interrupts", [f"interrupts (irq and softirq) used {share} of it"]
    if (processor.core_steal or 0.0) >= _MOST * core:
        return "steal", [f"the hypervisor took {percent(processor.core_steal or 0.0)} of it"]
    jobs = processor.all_jobs
    if jobs is None:
        return "generator", ["the load generator's share of it is unknown"]
    if _is_job_busy(processor):
        return "generator", []
    others, words = processor.others, f"fio's jobs together used {percent(jobs)} of a core"
    by_others = (others or 0.0) >= BUSY_CORE and (processor.busiest_job or 0) < LITTLE_CPU
    if jobs >= LITTLE_CPU and not by_others:
        return "generator", [words]
    if others is None:
        return "process", [f"{words}: another process filled it"]
    return "process", [f"{words}, all other processes {others:.2f} cores"]


def _is_job_busy(processor: MachineUse) -> bool:
    return processor.busiest_job is not None and processor.busiest_job >= BUSY_CORE


def _job_words(processor: MachineUse) -> str:
    share, named = processor.busiest_job or 0.0, f" {processor.job}" if processor.job else ""
    words = f"fio's job{named} used {percent(share)} of a core"
    if processor.job_user is None:
        return words
    user, system = percent(processor.job_user), percent(max(0.0, share - processor.job_user))
    return f"{words} (usr_cpu {user}, sys_cpu {system}; limit {percent(BUSY_CORE)})"
