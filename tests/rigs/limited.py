"""A command that may take only so much memory and time, whatever its input makes it do."""

from __future__ import annotations

import resource
from functools import partial

MEMORY_BYTES = 3 * 2**30
"""Address space; a diskbench that reads a plain file stays below a third of it."""
CPU_S = 60
"""Processor time, which a busy machine does not change."""


def _limit(memory_bytes: int, cpu_s: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))


limits = partial(_limit, MEMORY_BYTES, CPU_S)
"""For Popen's `preexec_fn`."""
