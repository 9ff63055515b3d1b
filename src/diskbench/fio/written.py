"""How often what a step reads was written before it (MR-1).

Blocks that were never written are answered without the medium: by a cloud's block store, by a thin
disk, by a drive's own map. So everything that is read must have been written, k times over (1 on a
network disk, 2 on a local NVMe drive), with data that no disk can shrink.

    passes = bytes written by the steps before it / bytes of what it reads

Only work bound by size counts: how much a timed step writes is not known. Files that are not there
are laid out by fio, written once in full, before they are read (fio 3.x, filesetup.c).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from diskbench.fio.estimate import METADATA_ENGINES, count, file_bytes, moved_bytes
from diskbench.fio.jobfile import jobs, parse
from diskbench.model.doubts import COMPRESSIBLE, FILLED_ONCE, UNWRITTEN
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Filled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.fio.jobfile import Job
    from diskbench.model.spec import Step

NETWORK_PASSES: Final = 1
LOCAL_PASSES: Final = 2
ENOUGH: Final = 0.99
"""Sizes are rounded to whole blocks; our choice."""
_SHRINKS = ("zero_buffers", "buffer_pattern", "buffer_compress_percentage", "dedupe_percentage")
_READS = frozenset({"read", "randread", "rw", "readwrite", "randrw"})
_WRITES = frozenset({"write", "randwrite"})
_MIXED = frozenset({"rw", "readwrite", "randrw"})


@dataclass
class _Range:
    """What was written to one file so far; None: nothing at all."""

    written: float | None = None
    kept: float = 0.0
    shrinks: str | None = None


def with_filled(
    steps: Sequence[Step], *, capacity_bytes: int | None, wanted: int, files: bool
) -> tuple[Step, ...]:
    """The steps, each with how often what it reads was written before. `files`: fio lays them
    out."""
    ranges: dict[str, _Range] = defaultdict(_Range)
    found = []
    for step in steps:
        of_step = jobs(parse(step.job).sections)
        fills = [
            _filled(ranges[name], size, wanted, files=files)
            for job in of_step
            if _reads(job)
            for name, size in file_bytes(job, capacity_bytes).items()
            if size
        ]
        worst = min(fills, key=lambda filled: (filled.passes, filled.shrinks is None), default=None)
        found.append(step.model_copy(update={"filled": worst}) if worst else step)
        for job in of_step:
            _write(job, ranges, capacity_bytes)
    return tuple(found)


def fill_warning(step: Step) -> Warning | None:
    """The doubt in what was read where it was not written before, not often enough, or with data
    that a disk can shrink."""
    filled = step.filled
    if filled is None or step.role == "fill":
        return None
    if filled.passes < ENOUGH:
        part = "nothing" if not filled.passes else f"only {filled.passes:.0%}"
        return UNWRITTEN.warning(
            f"{part} of what it reads was written before",
            advice="blocks that were never written are read without I/O: write them first, as the "
            "fill of the shipped profiles does",
            step=step.name,
        )
    if filled.shrinks is not None:
        return COMPRESSIBLE.warning(
            f"what it reads was written with {filled.shrinks}: data that a disk may shrink",
            step=step.name,
        )
    if filled.passes < filled.wanted * ENOUGH:
        return FILLED_ONCE.warning(
            f"what it reads was written {filled.passes:.2g} times before, not "
            f"{filled.wanted} times as a local NVMe drive needs (MR-1)",
            step=step.name,
        )
    return None


def _filled(found: _Range, size: int, wanted: int, *, files: bool) -> Filled:
    if found.written is None:
        return Filled(passes=1.0 if files else 0.0, wanted=wanted)
    shrinks = found.shrinks if found.kept < ENOUGH * size else None
    return Filled(passes=found.written / size, wanted=wanted, shrinks=shrinks)


def _write(job: Job, ranges: dict[str, _Range], capacity_bytes: int | None) -> None:
    """Add what a job writes, as far as its options tell, to what its files hold."""
    pattern = _pattern(job)
    share = 1.0 if pattern in _WRITES else 0.0
    if pattern in _MIXED:
        share = count(job, "rwmixwrite", 100 - count(job, "rwmixread", 50)) / 100
    if not share:
        return
    shrinks = next((name for name in _SHRINKS if job.get(name) not in (None, "0")), None)
    amount = 0.0 if job.flag("time_based") else share * moved_bytes(job, capacity_bytes)
    amount *= count(job, "numjobs")
    for name in file_bytes(job, capacity_bytes):
        file_range = ranges[name]
        file_range.written = (file_range.written or 0.0) + amount
        file_range.kept += 0.0 if shrinks else amount
        file_range.shrinks = file_range.shrinks or shrinks


def _reads(job: Job) -> bool:
    engine = (job.get("ioengine") or "").lower()
    return _pattern(job) in _READS and engine not in METADATA_ENGINES


def _pattern(job: Job) -> str:
    return (job.get("rw") or "read").split(":")[0].lower()
