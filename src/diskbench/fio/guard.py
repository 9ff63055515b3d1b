"""The guard: a job file may do I/O on the target, and nothing else.

Every option of every section is checked, including those that a later line replaces. An option that
is not known to be harmless is refused: options that name a path, a program, a host or a setting of
the machine are not on the list, nor are options that fio may add later.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from diskbench.errors import ProfileError
from diskbench.fio.jobfile import JobOption, Section, Sections, jobs, may_be_secret
from diskbench.fio.numbers import unreadable
from diskbench.fio.options import ALLOWABLE, ENGINE_OPTIONS, OURS, engine_reason, option_reason
from diskbench.fio.target import FioTarget, check_path

# fmt: off
FILE_ENGINES: Final = frozenset({
    "filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "ftruncate",
    "falloc",
})
"""Engines that make or remove directory entries; on a device node they would remove the node."""

ENGINES: Final = FILE_ENGINES | {
    "libaio", "io_uring", "posixaio", "sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "null",
}
"""Engines that do I/O through the file or device they are given, and nothing else."""
# fmt: on

TRIM_FILES: Final = frozenset({"falloc", "null"})
"""Engines whose trim works on a file: falloc punches holes, null does nothing."""

_WHOLE_DEVICE = "measure a whole device (--device, or a rented disk)"
_NO_DISCARD = f"fio discards blocks only on devices; {_WHOLE_DEVICE}"

MEMORY: Final = frozenset({"malloc", "shm", "mmap", "mmapshared"})

_MOST = 20
"""How many mistakes a message lists."""
_PLAIN_VALUE = re.compile(r"[$`\\]")
_NO_QUOTES: Final[Mapping[str, set[str]]] = {
    "description": set(),
    "buffer_pattern": {"'"},
    "verify_pattern": {"'"},
}
"""Options whose quotes are harmless, and those that are not: a description is printed alone, and in
a pattern "…" is text, where '…' names a file to read (lib/pattern.c)."""
_FILE_NAME = re.compile(r"^[A-Za-z0-9._ +,@%=/-]+\Z")
_FORMAT = re.compile(r"\$(jobname|jobnum|filenum|clientuid)(?![a-z])")
_JOB_NAME = re.compile(r"^(?!\.)[A-Za-z0-9._ +,@%()\[\]=:/-]+\Z")


@cache
def harmless() -> frozenset[str]:
    """Options that only shape the I/O, its data, its timing or fio's own process (up to 3.42)."""
    text = files("diskbench.fio").joinpath("data", "harmless_options.txt").read_text("utf-8")
    lines = (line.strip() for line in text.splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


@cache
def settable() -> frozenset[str]:
    """The options that `--set` may put into a job file, by their first names; the guard reads
    their values like those in the file."""
    return harmless() | _SPECIAL


def check(jobfile: Sections, target: FioTarget) -> None:
    """Refuse a job file that could read or write anything but `target`.

    Raises ProfileError naming section, line and option of every mistake, and TargetRefused for a
    path that a fio job file cannot name.
    """
    check_path(target)
    if mistakes := list(problems(jobfile, target)):
        more = len(mistakes) - _MOST
        shown = mistakes[:_MOST] + ([f"and {more} more"] if more > 0 else [])
        lead = "" if len(mistakes) == 1 else f"{len(mistakes)} mistakes:\n  "
        raise ProfileError(
            lead + "\n  ".join(shown),
            advice="correct or remove the named options; docs/profiles.md lists what a profile may "
            "contain",
        )


def problems(jobfile: Sections, target: FioTarget) -> Iterator[str]:
    """Every mistake, in order of the lines. An engine that is refused stands for its own options,
    which no other engine has."""
    engines = {o.value for s in jobfile for o in s.options if o.name == "ioengine"}
    refused = bool(engines - ENGINES)
    for section in jobfile:
        if not _is_job_name(section.name):
            yield (
                f"[{section.name}]: a section names a file and a step, below the target: use "
                "letters, digits, blanks and . _ + , @ % ( ) [ ] = : - /, no / in front and no .."
            )
        for option in section.options:
            if refused and option.name in ENGINE_OPTIONS:
                continue
            if problem := _problem(option, target):
                yield f"[{section.name}] line {option.line}: {_shown(option)}: {problem}"
    for job in jobs(jobfile):
        if target.kind == "directory":
            yield from _of_devices_alone(job)
        if target.others and not job.get("filename"):
            yield f"[{job.name}] has no device: name one of the disks with filename="


def _of_devices_alone(job: Section) -> Iterator[str]:
    """What fio can do with a device alone: with a file it fails while it runs (3.33, tried)."""
    rw, share = job.get("rw") or "", job.get("trim_percentage") or "0"
    if "trim" in rw and job.get("ioengine") not in TRIM_FILES:
        yield f"[{job.name}] rw={rw}: {_NO_DISCARD}"
    if share != "0":
        yield f"[{job.name}] trim_percentage={share}: {_NO_DISCARD}"
    if job.get("zonemode") == "zbd":
        yield f"[{job.name}] zonemode=zbd: a file has no zones; {_WHOLE_DEVICE}"


def _problem(option: JobOption, target: FioTarget) -> str | None:
    """Why an option is refused; None where it is harmless."""
    name, value = option.name, option.value or ""
    if name in OURS:
        return OURS[name]
    if name in target.allowed and name in ALLOWABLE:
        return None
    if name not in _SPECIAL and name not in harmless():
        return option_reason(name)
    if name == "filename" and _FORMAT.search(value):
        return (
            "fio replaces $jobname, $jobnum and $filenum only in filename_format; elsewhere they "
            "are plain characters"
        )
    if name != "filename_format" and _PLAIN_VALUE.search(value):
        return "$, backtick and backslash are expanded by fio or a shell; templates use {{ … }}"
    if set(value) & _NO_QUOTES.get(name, {"'", '"'}):
        return "quotes make fio read a file or keep them in a name"
    if name in _PLACED and (problem := _PLACED[name](value, target)):
        return problem
    applies, is_fine, problem = _PLAIN.get(name, (_any, _any, ""))
    if applies(target) and not is_fine(value):
        return problem
    form = unreadable(name, value)
    return f"fio and diskbench must read the same number here; {form}" if form else None


def _shown(option: JobOption) -> str:
    if option.value is None or may_be_secret(option.key):
        return option.key
    return f"{option.key}={option.value}"


def _engine(value: str, target: FioTarget) -> str | None:
    if value not in ENGINES:
        return engine_reason(value, ", ".join(sorted(ENGINES)))
    if target.kind == "device" and value in FILE_ENGINES:
        return "this engine makes and removes files; it needs a directory"
    return None


def _filename(value: str, target: FioTarget) -> str | None:
    if target.others:
        if set(value.split(":")) <= set(target.paths):
            return None
        return f"only {', '.join(target.paths)} may be written to"
    if target.kind == "device":
        if value == target.path or (_is_inside(value) and ":" not in value):
            return None
        return f"only {target.path} may be written to"
    if all(_is_inside(part) for part in value.split(":")):
        return None
    return "a file must lie inside the target: a relative name without .."


def _filename_format(value: str, target: FioTarget) -> str | None:
    if target.kind == "device":
        return "a device has no files"
    bare = _FORMAT.sub("x", value)
    return None if _is_inside(bare) else "a file must lie inside the target"


def _is_inside(name: str) -> bool:
    """Whether a file name stays below the directory that it is joined to."""
    return (
        bool(_FILE_NAME.match(name))
        and not name.startswith("/")
        and name not in {"-", "."}
        and ".." not in name.split("/")
    )


def _is_job_name(name: str) -> bool:
    """Whether fio may make a file of this name: it makes the folder of `[a/b]`, too (3.33)."""
    return bool(_JOB_NAME.match(name)) and name[0] != "/" and ".." not in name.split("/")


def _any(_: object) -> bool:
    return True


def _on(kind: str) -> Callable[[FioTarget], bool]:
    return lambda target: target.kind == kind


def _limited(target: FioTarget) -> bool:
    """Whether --size allows only a part of a device: fio wraps strides and holes at the end of the
    device, whatever `size` is."""
    return target.kind == "device" and target.size_bytes is not None


def _in_one_piece(rw: str) -> bool:
    return ":" not in rw or rw.startswith("rand")


_UNLINK = (_on("device"), "0".__eq__, "it would remove the device node")
_NAME = (_any, _is_job_name, "this name has characters that no job name may have")
_BEYOND = "it goes over the whole device, and --size allows a part of it"
_PLAIN: Final[dict[str, tuple[Callable[[FioTarget], bool], Callable[[str], bool], str]]] = {
    "mem": (_any, MEMORY.__contains__, f"memory is one of {', '.join(sorted(MEMORY))}"),
    "nrfiles": (_on("device"), "1".__eq__, "a device is one file"),
    "unlink": _UNLINK,
    "unlink_each_loop": _UNLINK,
    "fill_device": (
        _on("directory"), "0".__eq__, f"it would fill the whole filesystem; {_WHOLE_DEVICE}",
    ),
    "file_append": (
        _any, "0".__eq__, "files would grow with every pass, beyond the space checked",
    ),
    "zoneskip": (_limited, "0".__eq__, _BEYOND),
    "rw": (_limited, _in_one_piece, _BEYOND),
    "name": _NAME,
    "wait_for": _NAME,
    "kb_base": (_any, "1024".__eq__, "sizes are powers of 1024 in diskbench"),
    "buffer_pattern": (_any, _any, ""),
    "verify_pattern": (_any, _any, ""),
}  # fmt: skip
"""Options → on which targets a value must be of a form, the form, and why."""
_PLACED: Final[dict[str, Callable[[str, FioTarget], str | None]]] = {
    "ioengine": _engine,
    "filename": _filename,
    "filename_format": _filename_format,
}
_SPECIAL: Final = _PLAIN.keys() | _PLACED.keys()
