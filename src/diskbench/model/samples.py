"""What the machine did while a step ran, from one sample a second beside fio (MR-12)."""

from diskbench.model.base import Frozen

BUSY_CORE = 0.90
"""Of a step's time: from there on the busiest core, or one job of fio, may have set the pace."""
STEAL = 0.02
"""Of the processor time, taken by a hypervisor. Both are MR-12's, which has no source for them."""
LITTLE_CPU = 0.50
"""Of one core, all fio jobs together: with less than this it was not they that filled a core."""


class SampleSummary(Frozen):
    """One step's samples, summed up. None where the host does not count the thing.

    `busiest_core`, `mean_cpu` and `steal` are fractions (0.9 = 90 %): the busiest core over the
    whole step, the mean of all cores, and the time a hypervisor gave to other guests.
    `busiest_core_steal` and `busiest_core_interrupts` (irq and softirq) are parts of the busiest
    core's time. `processes` is what processes and kernel threads used, in cores.
    `device_*` are differences of the device's own counters (/proc/diskstats) over `seconds`.
    """

    seconds: float
    busiest_core: float | None = None
    busiest_core_steal: float | None = None
    busiest_core_interrupts: float | None = None
    mean_cpu: float | None = None
    processes: float | None = None
    steal: float | None = None
    context_switches_per_s: float | None = None
    device_read_ios: int | None = None
    device_write_ios: int | None = None
    device_read_bytes: int | None = None
    device_write_bytes: int | None = None
    mean_in_flight: float | None = None
