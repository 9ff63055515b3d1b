"""The size of a job that names none, `size=0`, or a share of a file that is not there.

fio takes such a size from the device, or from a file that exists. A directory of ours is new: fio
ends there with "you need to specify size=" (3.33, tried), unless an earlier job laid the file out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from diskbench.errors import ProfileError
from diskbench.fio.estimate import count, file_bytes
from diskbench.fio.jobfile import Job, JobFile, JobOption, jobs
from diskbench.fio.numbers import bytes_of, percent_of
from diskbench.fio.retarget import JobChange
from diskbench.fio.target import FioTarget
from diskbench.units import MIB

_NEED_NO_SIZE: Final = frozenset({"filecreate", "dircreate"})
"""Engines that make entries without data: the only ones that need no size (3.33, tried)."""


def with_sizes(file: JobFile, target: FioTarget) -> tuple[JobFile, tuple[JobChange, ...]]:
    """The file with a size, of those that `--size` allows, for each job that has none of its own,
    and each replaced `size` in its line.

    On a device that is all that is allowed of it (of each that the job names). In a directory it
    is the job's share of what the other jobs leave: `size=50%` is half of it, and what all such
    files would take beyond that is cut from all of them. Raises ProfileError for a directory
    without `--size`.
    """
    file_jobs = jobs(file.sections)
    unsized = _unsized(file_jobs, target)
    if not unsized or (target.kind == "device" and not target.size_bytes):
        return file, ()
    if not target.size_bytes:
        raise _nothing_to_take_it_from([file_jobs[at] for at in unsized])
    if target.kind == "device":
        given = {
            at: target.size_bytes * (len(file_bytes(file_jobs[at], 1)) if target.others else 1)
            for at in unsized
        }
    else:
        given = _shares(file_jobs, unsized, target.size_bytes)
    numbers = iter(range(len(file_jobs)))
    sections, changes = [], []
    for section in file.sections:
        new = section
        if not section.is_global and (at := next(numbers)) in given:
            size = JobOption(key="size", value=str(given[at]))
            new = section.model_copy(update={"options": (*section.options, size)})
            changes += [
                JobChange(
                    section=section.name,
                    line=option.line,
                    before=f"{option.key}={option.value}",
                    after=f"size={size.value}",
                    reason="of --size",
                )
                for option in [o for o in file_jobs[at].options if o.name == "size"][-1:]
            ]
        sections.append(new)
    return JobFile(sections=tuple(sections)), tuple(changes)


def _unsized(file_jobs: tuple[Job, ...], target: FioTarget) -> tuple[int, ...]:
    """The places of the jobs for which fio would take what is there."""
    if target.kind == "device":
        return tuple(at for at, job in enumerate(file_jobs) if not _has(job, "size"))
    return tuple(_of_a_directory(file_jobs))


def _of_a_directory(file_jobs: tuple[Job, ...]) -> Iterator[int]:
    laid: dict[str, tuple[int, int]] = {}
    for at, job in enumerate(file_jobs):
        in_bytes = bytes_of(job.get("size") or "") or job.get("filesize") is not None
        # Only as many of the numbered files are there as an earlier job had clones and files.
        made = (count(job, "numjobs"), count(job, "nrfiles"))
        names = file_bytes(job, None)
        exist = bool(names) and all(
            name in laid and ("$" not in name or all(map(int.__le__, made, laid[name])))
            for name in names
        )
        if not in_bytes and not exist and job.get("ioengine") not in _NEED_NO_SIZE:
            yield at
        if not exist:
            laid |= dict.fromkeys(names, made)


def _has(job: Job, name: str) -> bool:
    """Whether an option says a size that is not 0, in bytes or as a share."""
    value = job.get(name) or ""
    return bool(bytes_of(value) or percent_of(value))


def _shares(file_jobs: tuple[Job, ...], unsized: tuple[int, ...], allowed: int) -> dict[int, int]:
    wanted = {
        at: allowed * (percent_of(file_jobs[at].get("size") or "") or 100) // 100 for at in unsized
    }
    taken: dict[str, int] = {}
    asked: dict[str, int] = {}
    for at, job in enumerate(file_jobs):
        size = JobOption(key="size", value=str(wanted.get(at, 0)))
        sized = Job(name=job.name, options=(*job.options, size)) if at in wanted else job
        of_these = asked if at in wanted else taken
        for name, used in file_bytes(sized, None).items():
            of_these[name] = max(of_these.get(name, 0), used)
    room, needed = allowed - sum(taken.values()), sum(asked.values())
    if needed <= room or room <= 0:
        return wanted
    return {at: max(MIB, size * room // needed // MIB * MIB) for at, size in wanted.items()}


def _nothing_to_take_it_from(unsized: list[Job]) -> ProfileError:
    named = ", ".join(f"[{job.name}]" for job in unsized)
    sizes = dict.fromkeys(size for job in unsized if (size := job.get("size")))
    said = f"size={' and '.join(sizes)}" if sizes else "no size="
    return ProfileError(
        f"{named}: {said} means what a device or an existing file has; in a directory fio finds "
        "nothing there and fails",
        advice="give --size, from which it is taken, or size= in bytes (--set size=1g); or measure "
        "a device",
        field="size",
    )
