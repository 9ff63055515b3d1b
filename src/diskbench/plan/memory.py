"""Whether a machine has the memory that fio's own buffers need: pure."""

from collections.abc import Iterable

from diskbench.errors import InvalidValue
from diskbench.fio.estimate import block_sizes, count
from diskbench.fio.jobfile import Job, jobs, parse
from diskbench.model.facts import HostFacts
from diskbench.model.spec import Step
from diskbench.units import MIB, format_bytes

BASE_BYTES = 96 * MIB
"""Bytes that one fio process needs besides its buffers and logs: 35 MB resident for a small job
with fio 3.33, and as much again for a second's histograms; the rest is our margin."""


def check_memory(steps: Iterable[Step], facts: HostFacts, name: str) -> None:
    """Raise InvalidValue when a step's buffers do not fit into the memory that is available.

    Unknown memory (0) is accepted.
    """
    available = facts.memory_available_bytes
    if not available:
        return
    for step in steps:
        needed = BASE_BYTES + sum(buffer_bytes(job) for job in jobs(parse(step.job).sections))
        if needed > available:
            raise InvalidValue(
                f"step {step.name!r} needs about {format_bytes(needed)} of memory for fio's "
                f"buffers, but {name} has {format_bytes(available)} available",
                advice="use fewer jobs, a smaller queue depth or block size, or a larger machine",
            )


def buffer_bytes(job: Job) -> int:
    """Return the I/O buffers of one job in bytes: numjobs × iodepth × its largest block size."""
    depth = count(job, "iodepth") * count(job, "numjobs")
    return depth * max(block_sizes(job))
