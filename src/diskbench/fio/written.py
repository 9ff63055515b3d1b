"""How often the blocks that a step reads were written before it (MR-1).

Reads of blocks that were never written do not reach the medium: a cloud's block store, a thin disk
or a drive's map answers them. So everything that is read must have been written k times (once on a
network disk, twice on a local NVMe drive), with data that no disk can compress or deduplicate.

    passes = bytes written by the steps before / bytes of the files that it reads

Only work bound by size counts, because the bytes that a timed step writes are not known. fio writes
a missing file once in full before it reads it (fio 3.x, filesetup.c).
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
    """What was written to one file so far. `written` is None where no step wrote to it, `kept` has
    the bytes that a disk cannot shrink, and `shrinks` is the option that made the others."""

    written: float | None = None
    kept: float = 0.0
    shrinks: str | None = None


def with_filled(
    steps: Sequence[Step], *, capacity_bytes: int | None, least_passes: int, files: bool
) -> tuple[Step, ...]:
    """The steps, each with how often the blocks that it reads were written before. `files`: the
    target is a directory, in which fio writes missing files in full."""
    ranges: dict[str, _Range] = defaultdict(_Range)
    steps_filled = []
    for step in steps:
        of_step = jobs(parse(step.job).sections)
        fills = [
            _filled(ranges[name], size, least_passes, files=files)
            for job in of_step
            if _reads(job)
            for name, size in file_bytes(job, capacity_bytes).items()
            if size
        ]
        worst = min(fills, key=lambda filled: (filled.passes, filled.shrinks is None), default=None)
        steps_filled.append(step.model_copy(update={"filled": worst}) if worst else step)
        for job in of_step:
            _write(job, ranges, capacity_bytes)
    return tuple(steps_filled)


def fill_warning(step: Step) -> Warning | None:
    """The doubt in a step that reads blocks which were written never, too seldom, or with data that
    a disk can compress or deduplicate; None without one."""
    filled = step.filled
    if filled is None or step.role == "fill":
        return None
    if filled.passes < ENOUGH:
        part = "nothing" if not filled.passes else f"only {filled.passes:.0%}"
        return UNWRITTEN.warning(
            f"{part} of the blocks that it reads was written before",
            advice="a disk answers such reads without I/O: write the blocks first, as the fill "
            "step of the shipped profiles does",
            step=step.name,
        )
    if filled.shrinks is not None:
        return COMPRESSIBLE.warning(
            f"the blocks that it reads hold {filled.shrinks}: a disk can compress that",
            step=step.name,
        )
    if filled.passes < filled.wanted * ENOUGH:
        return FILLED_ONCE.warning(
            f"the blocks that it reads were written {filled.passes:.2g} times; a local NVMe drive "
            f"needs {filled.wanted} times",
            step=step.name,
        )
    return None


def _filled(extent: _Range, size: int, least_passes: int, *, files: bool) -> Filled:
    if extent.written is None:
        return Filled(passes=1.0 if files else 0.0, wanted=least_passes)
    shrinks = extent.shrinks if extent.kept < ENOUGH * size else None
    return Filled(passes=extent.written / size, wanted=least_passes, shrinks=shrinks)


def _write(job: Job, ranges: dict[str, _Range], capacity_bytes: int | None) -> None:
    """Add the bytes that a job writes, as far as its options say, to those of its files."""
    pattern = _pattern(job)
    share = 1.0 if pattern in _WRITES else 0.0
    if pattern in _MIXED:
        share = count(job, "rwmixwrite", 100 - count(job, "rwmixread", 50)) / 100
    if not share:
        return
    shrinks = next((name for name in _SHRINKS if job.get(name) not in (None, "0")), None)
    amount = 0.0 if job.flag("time_based") else share * moved_bytes(job, capacity_bytes)
    files = file_bytes(job, capacity_bytes)
    amount *= count(job, "numjobs") / max(len(files), 1)
    for name in files:
        file_range = ranges[name]
        file_range.written = (file_range.written or 0.0) + amount
        file_range.kept += 0.0 if shrinks else amount
        file_range.shrinks = file_range.shrinks or shrinks


def _reads(job: Job) -> bool:
    engine = (job.get("ioengine") or "").lower()
    return _pattern(job) in _READS and engine not in METADATA_ENGINES


def _pattern(job: Job) -> str:
    return (job.get("rw") or "read").split(":")[0].lower()
