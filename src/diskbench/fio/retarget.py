"""Put a foreign job file onto our target, with sizes where it has none, and list each change.

Job files name the disk and the directory of their author, and where his logs go. What names a
target becomes ours, what names logging or output is left to diskbench, and what is to be worked out
(`30g/2`) becomes the number. The guard (fio/guard.py) checks the result: this module
decides nothing about safety.

A job without `size`, with `size=0` or with a share takes its size from the device, or from a file
that exists. A directory of ours is new: fio ends there with "you need to specify size=" (3.33,
tried), unless an earlier job laid the file out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from diskbench.errors import ProfileError
from diskbench.fio.estimate import count, file_bytes
from diskbench.fio.jobfile import (
    ALIASES,
    JobOption,
    Section,
    Sections,
    edited,
    is_absolute,
    jobs,
    split_names,
)
from diskbench.fio.numbers import (
    ONE_NUMBER,
    blocks_of,
    bytes_of,
    evaluate,
    is_arithmetic,
    percent_of,
)
from diskbench.fio.options import OURS, OUTPUT
from diskbench.fio.target import FioTarget, disk_of_name
from diskbench.model.base import Frozen
from diskbench.units import MIB

_KEPT = re.compile(r"[^A-Za-z0-9._ +,@%=-]+")
_NEED_NO_SIZE: Final = frozenset({"filecreate", "dircreate"})
"""Engines that make entries without data: the only ones that need no size (3.33, tried)."""


class JobChange(Frozen):
    """One change to a job file: the option in its line before, and after (None: taken out). An
    option that is added has no `before`, and the line 0."""

    section: str
    line: int
    before: str
    after: str | None
    reason: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """`filename=/dev/sdb → /dev/nvme1n1`, a line for each name where a list becomes a list as
        long; or `write_lat_log: diskbench keeps its own`."""
        if self.after is None or not self.before.startswith("filename="):
            return (self._text,)
        names = [split_names(side.partition("=")[2]) for side in (self.before, self.after)]
        if len(names[0]) < 2 or len(names[0]) != len(names[1]) or self.reason:
            return (self._text,)
        return tuple(f"filename={a} → {b}" for a, b in zip(*names, strict=True) if a != b)

    @property
    def _text(self) -> str:
        if self.after is None:
            return f"{self.before.partition('=')[0]}: {self.reason}"
        reason = f" ({self.reason})" if self.reason else ""
        if not self.before:
            return f"{self.after}{reason}"
        key, _, value = self.after.partition("=")
        new = value if key == self.before.partition("=")[0] else self.after
        return f"{self.before} → {new}{reason}"


def retarget(
    file: Sections, target: FioTarget, options: Iterable[tuple[str, str]] = ()
) -> tuple[Sections, tuple[JobChange, ...]]:
    """The job file on our target, and what was changed, in order of its lines. `options` are those
    that the user sets for every job.

    Raises ProfileError for a file that names several devices, unless the target has as many disks.
    """
    file, set_here = _with_options(file, options)
    names = disk_of_name(file, target) or _file_names(file)
    merged = _merged(file)
    walled = any(job.flag("stonewall") for job in jobs(file)[1:])
    changes = list(set_here)

    def fitted(section: Section, option: JobOption) -> JobOption | None:
        new, reason = _fitted(option, target, names, walled=walled)
        if option.name == "directory" and target.kind == "directory":
            reason += merged
        if new is not option:
            changes.append(_change(section, option, new, reason))
        return new

    return edited(file, fitted), tuple(changes)


def _with_options(
    file: Sections, options: Iterable[tuple[str, str]]
) -> tuple[Sections, tuple[JobChange, ...]]:
    """The file with these options in every job; a missing one is put first."""
    wanted = {ALIASES.get(key, key): JobOption(key=key, value=value) for key, value in options}
    missing = {name for name in wanted for job in jobs(file) if job.get(name) is None}
    added = tuple(option for name, option in wanted.items() if name in missing)
    begin = Section(name="global", options=added)
    changes = [
        _change(begin, option, option, "set by --set").model_copy(update={"before": ""})
        for option in added
    ]

    def replaced(section: Section, option: JobOption) -> JobOption:
        value = wanted[option.name].value if option.name in wanted else option.value
        if value is None or value == option.value:
            return option
        new = _with(option, value)
        changes.append(_change(section, option, new, "set by --set"))
        return new

    file = (*((begin,) if added else ()), *edited(file, replaced))
    return file, tuple(sorted(changes, key=lambda c: c.line))


def _fitted(
    option: JobOption, target: FioTarget, names: dict[str, str], *, walled: bool
) -> tuple[JobOption | None, str]:
    """The option as it fits our target (None: taken out; the same object: unchanged), and why."""
    name, value = option.name, option.value or ""
    if name == "directory":
        return None, f"files go to {target.path}" if target.kind == "directory" else "on a device"
    if name in OURS or name in OUTPUT:
        return None, OURS.get(name, "diskbench starts fio and keeps its output")
    if walled and name == "exit_what" and value == "all":
        return _with(option, "group"), "each step after a stonewall runs separately"
    if name == "filename":
        return _filename(option, target, names)
    if name == "filename_format":
        if target.kind == "device":
            return None, "a device has no files"
        bare = value.rpartition("/")[2] if value.startswith("/") else value
        return _placed(option, bare, f"below {target.path}")
    if target.kind == "device" and name in {"unlink", "unlink_each_loop"} and value != "0":
        return None, "a device is not removed"
    if name == "threads":
        # fio 3.33 takes the line and starts processes all the same (tried).
        return None, "fio ignores it; jobs run as threads with thread"
    return _worked_out(option)


def _filename(option: JobOption, target: FioTarget, names: dict[str, str]) -> tuple[JobOption, str]:
    """A device's name is the target's, or of several disks the one that `names` has for it; a
    file's is one below the target."""
    value = option.value or ""
    if target.others:
        return _placed(option, ":".join(names.get(part, part) for part in split_names(value)))
    if target.kind == "device":
        return _placed(option, target.path if value else "")
    parts = [names.get(part, part) for part in split_names(value)]
    placed = ":".join(part.replace(":", "\\:") for part in parts)
    return _placed(option, placed, f"below {target.path}")


def _placed(option: JobOption, value: str, reason: str = "") -> tuple[JobOption, str]:
    """The option with a value, and why; the same object where it has it."""
    return (option, "") if value == (option.value or "") else (_with(option, value), reason)


def _file_names(file: Sections) -> dict[str, str]:
    """A name below our directory for each absolute name in the file: its last part, numbered where
    two files share it. Relative names stay."""
    options = (option for section in file for option in section.options)
    values = (option.value or "" for option in options if option.name == "filename")
    names = dict.fromkeys(name for value in values for name in split_names(value) if name)
    taken = {name for name in names if not is_absolute(name)}
    placed: dict[str, str] = {}
    for name in filter(is_absolute, names):
        last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
        plain = _KEPT.sub("-", last).strip("-. ") or "data"
        new, number = plain, 1
        while new in taken:
            number += 1
            new = f"{plain}-{number}"
        taken.add(new)
        placed[name] = new
    return placed


def _merged(file: Sections) -> str:
    """What becomes of several directories: one, in which equal names are one file; "" for one."""
    directories: dict[str, set[str]] = {}
    for job in jobs(file):
        if (directory := job.get("directory")) is not None:
            directories.setdefault(directory, set()).update(split_names(job.get("filename") or ""))
    if len(directories) < 2:
        return ""
    counts = Counter(name for names in directories.values() for name in names if name)
    shared = sorted(name for name, count in counts.items() if count > 1)
    also = f"; {', '.join(shared)} in them is then one file" if shared else ""
    return f", as those of all {len(directories)} directories do{also}"


def _worked_out(option: JobOption) -> tuple[JobOption, str]:
    """Arithmetic as its result, and a range of block sizes in the option that takes one."""
    name, value = option.name, option.value or ""
    if name == "bs" and "-" in value and blocks_of("bsrange", value):
        ranged = option.model_copy(update={"key": "bsrange"})
        return ranged, "fio's bs reads only the first size of a range"
    is_worked_out = name in ONE_NUMBER and is_arithmetic(value)
    number = evaluate(value) if is_worked_out else None
    return (option if number is None else _with(option, str(number))), ""


def _with(option: JobOption, value: str) -> JobOption:
    return option.model_copy(update={"value": value})


def _change(section: Section, option: JobOption, new: JobOption | None, reason: str) -> JobChange:
    before = option.key if option.value is None else f"{option.key}={option.value}"
    after = None if new is None else f"{new.key}={new.value}"
    return JobChange(
        section=section.name, line=option.line, before=before, after=after, reason=reason
    )


def change_lines(changes: Iterable[JobChange]) -> tuple[str, ...]:
    """Each change once, as a line for a person."""
    return tuple(dict.fromkeys(line for change in changes for line in change.lines))


def with_sizes(file: Sections, target: FioTarget) -> tuple[Sections, tuple[JobChange, ...]]:
    """The file with a size, of those that `--size` allows, for each job that has none of its own,
    and each replaced `size` in its line.

    On a device that is all that is allowed of it (of each that the job names). In a directory it
    is the job's share of what the other jobs leave: `size=50%` is half of it, and what all such
    files would take beyond that is cut from all of them. Raises ProfileError for a directory
    without `--size`.
    """
    file_jobs = jobs(file)
    # the places of the jobs for which fio would take what is there
    said = [job.get("size") or "" for job in file_jobs]
    unsized = [at for at, size in enumerate(said) if not (bytes_of(size) or percent_of(size))]
    if target.kind == "directory":
        unsized = list(_of_a_directory(file_jobs))
    if target.kind == "device" and not target.size_bytes:
        return _whole_devices(file)
    if not unsized:
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
    for section in file:
        new = section
        if not section.is_global and (at := next(numbers)) in given:
            size = JobOption(key="size", value=str(given[at]))
            new = section.model_copy(update={"options": (*section.options, size)})
            own = [option for option in file_jobs[at].options if option.name == "size"]
            changes += [_change(section, option, size, "of --size") for option in own[-1:]]
        sections.append(new)
    return tuple(sections), tuple(changes)


def _whole_devices(file: Sections) -> tuple[Sections, tuple[JobChange, ...]]:
    """The file with `size=100%` for each `size=0`, by which fio means the same on a device."""
    changes: list[JobChange] = []

    def whole(section: Section, option: JobOption) -> JobOption:
        if option.name != "size" or bytes_of(option.value or "") != 0:
            return option
        new = _with(option, "100%")
        changes.append(_change(section, option, new, "0 is the whole device to fio"))
        return new

    return edited(file, whole), tuple(changes)


def _of_a_directory(file_jobs: Sections) -> Iterator[int]:
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


def _shares(file_jobs: Sections, unsized: list[int], allowed: int) -> dict[int, int]:
    shares = {at: percent_of(file_jobs[at].get("size") or "") or 100 for at in unsized}
    wanted = {at: allowed * share // 100 for at, share in shares.items()}
    taken: dict[str, int] = {}
    asked: dict[str, int] = {}
    for at, job in enumerate(file_jobs):
        size = JobOption(key="size", value=str(wanted.get(at, 0)))
        more = (size,) if at in wanted else ()
        sized = job.model_copy(update={"options": (*job.options, *more)})
        of_these = asked if at in wanted else taken
        for name, used in file_bytes(sized, None).items():
            of_these[name] = max(of_these.get(name, 0), used)
    room, needed = allowed - sum(taken.values()), sum(asked.values())
    if needed <= room or room <= 0:
        return wanted
    return {at: max(MIB, size * room // needed // MIB * MIB) for at, size in wanted.items()}


def _nothing_to_take_it_from(unsized: list[Section]) -> ProfileError:
    named = ", ".join(f"[{job.name}]" for job in unsized)
    sizes = dict.fromkeys(size for job in unsized if (size := job.get("size")))
    said = f"size={' and '.join(sizes)}" if sizes else "no size="
    return ProfileError(
        f"{named}: {said} means the size of a device or an existing file; in a directory fio "
        f"finds neither and fails",
        advice="give --size, which sets it, or size= in bytes (--set size=1g); or measure a device",
        field="size",
    )
