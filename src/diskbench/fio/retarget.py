"""Put a foreign job file onto our target, and list each change.

Job files name the disk and the directory of their author, and where his logs go. What names a
target becomes ours, what names logging or output is left to diskbench, and what is to be worked out
(`30g/2`) becomes the number. The guard (fio/guard.py) checks the result: this module
decides nothing about safety.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from diskbench.fio.arithmetic import evaluate, is_arithmetic
from diskbench.fio.guard import OURS
from diskbench.fio.jobfile import ALIASES, JobFile, JobOption, Section, jobs
from diskbench.fio.named_devices import disk_of_name, is_absolute, split_names
from diskbench.fio.numbers import ONE_NUMBER, blocks_of
from diskbench.fio.target import FioTarget
from diskbench.model.base import Frozen

OUTPUT: Final = frozenset(
    {"output", "output-format", "status-interval", "eta", "eta-newline", "eta-interval", "minimal",
     "append-terse", "terse-version", "bandwidth-log", "latency-log", "idle-prof", "debug",
     "aux-path", "warnings-fatal", "max-jobs", "alloc-size"}
)  # fmt: skip
"""Options of fio's command line, which job files of wrappers hold; diskbench gives its own."""

_KEPT = re.compile(r"[^A-Za-z0-9._ +,@%=-]+")


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
    file: JobFile, target: FioTarget, options: Iterable[tuple[str, str]] = ()
) -> tuple[JobFile, tuple[JobChange, ...]]:
    """The job file on our target, and what was changed, in order of its lines. `options` are those
    that the user sets for every job.

    Raises ProfileError for a file that names several devices, unless the target has as many disks.
    """
    file, set_here = _with_options(file, options)
    names = disk_of_name(file, target) or _file_names(file)
    merged = _merged(file)
    walled = any(job.flag("stonewall") for job in jobs(file.sections)[1:])
    changes = list(set_here)
    sections = []
    for section in file.sections:
        fitted = []
        for option in section.options:
            new, reason = _fitted(option, target, names, walled=walled)
            if option.name == "directory" and target.kind == "directory":
                reason += merged
            if new is not option:
                changes.append(_change(section, option, new, reason))
            if new is not None:
                fitted.append(new)
        sections.append(section.model_copy(update={"options": tuple(fitted)}))
    return JobFile(sections=tuple(sections)), tuple(changes)


def _with_options(
    file: JobFile, options: Iterable[tuple[str, str]]
) -> tuple[JobFile, tuple[JobChange, ...]]:
    """The file with these options in every job: a value that a job has is replaced; a
    missing option is put first."""
    changes: list[JobChange] = []
    sections = list(file.sections)
    added: list[JobOption] = []
    for key, value in options:
        name = ALIASES.get(key, key)
        if any(job.get(name) is None for job in jobs(tuple(sections))):
            added.append(JobOption(key=key, value=value))
        for number, section in enumerate(sections):
            replaced = []
            for option in section.options:
                new = option
                if option.name == name and option.value != value:
                    new = _with(option, value)
                    changes.append(_change(section, option, new, "set by --set"))
                replaced.append(new)
            sections[number] = section.model_copy(update={"options": tuple(replaced)})
    if added:
        first = Section(name="global", options=tuple(added))
        sections.insert(0, first)
        changes += [
            JobChange(section="global", line=0, before="", after=f"{o.key}={o.value}",
                      reason="set by --set")
            for o in added
        ]  # fmt: skip
    return JobFile(sections=tuple(sections)), tuple(sorted(changes, key=lambda c: c.line))


def _fitted(
    option: JobOption, target: FioTarget, names: Mapping[str, str], *, walled: bool
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
        return _format(option, target)
    if target.kind == "device" and name in {"unlink", "unlink_each_loop"} and value != "0":
        return None, "a device is not removed"
    if name == "threads":
        # fio 3.33 takes the line and starts processes all the same (tried).
        return None, "fio ignores it; jobs run as threads with thread"
    return _worked_out(option)


def _filename(
    option: JobOption, target: FioTarget, names: Mapping[str, str]
) -> tuple[JobOption, str]:
    """A device's name is the target's, or of several disks the one that `names` has for it; a
    file's is one below the target."""
    value = option.value or ""
    if target.others:
        placed = ":".join(names.get(part, part) for part in split_names(value))
        return (option, "") if placed == value else (_with(option, placed), "")
    if target.kind == "device":
        same = value == target.path or not value
        return (option, "") if same else (_with(option, target.path), "")
    parts = [names.get(part, part) for part in split_names(value)]
    placed = ":".join(part.replace(":", "\\:") for part in parts)
    return (option, "") if placed == value else (_with(option, placed), f"below {target.path}")


def _format(option: JobOption, target: FioTarget) -> tuple[JobOption | None, str]:
    value = option.value or ""
    if target.kind == "device":
        return None, "a device has no files"
    bare = value.rpartition("/")[2] if value.startswith("/") else value
    return (option, "") if bare == value else (_with(option, bare), f"below {target.path}")


def _file_names(file: JobFile) -> dict[str, str]:
    """A name below our directory for each absolute name in the file: its last part, numbered where
    two files share it. Relative names stay."""
    names = dict.fromkeys(
        name
        for section in file.sections
        for option in section.options
        if option.name == "filename"
        for name in split_names(option.value or "")
        if name
    )
    taken = {name for name in names if not is_absolute(name)}
    placed: dict[str, str] = {}
    for name in names:
        if not is_absolute(name):
            continue
        last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
        plain = _KEPT.sub("-", last).strip("-. ") or "data"
        new, number = plain, 1
        while new in taken:
            number += 1
            new = f"{plain}-{number}"
        taken.add(new)
        placed[name] = new
    return placed


def _merged(file: JobFile) -> str:
    """What becomes of several directories: one, in which equal names are one file; "" for one."""
    directories: dict[str, set[str]] = {}
    for job in jobs(file.sections):
        if (directory := job.get("directory")) is not None:
            directories.setdefault(directory, set()).update(split_names(job.get("filename") or ""))
    if len(directories) < 2:
        return ""
    counts = Counter(name for names in directories.values() for name in names if name)
    shared = sorted(name for name, count in counts.items() if count > 1)
    also = f"; {', '.join(shared)} of them is one file then" if shared else ""
    return f", as those of all {len(directories)} directories do{also}"


def _worked_out(option: JobOption) -> tuple[JobOption, str]:
    """Arithmetic as its result, and a range of block sizes in the option that takes one."""
    name, value = option.name, option.value or ""
    if name == "bs" and "-" in value and blocks_of("bsrange", value):
        ranged = option.model_copy(update={"key": "bsrange"})
        return ranged, "fio's bs reads only the first size of a range"
    if name in ONE_NUMBER and is_arithmetic(value):
        number = evaluate(value)
        if number is not None:
            return _with(option, str(number)), ""
    return option, ""


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
