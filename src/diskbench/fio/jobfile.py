"""fio job files: parsed as fio 3.33 parses them, split into stonewall groups, written again.

The rules are those of fio's `__parse_jobs_ini` and `strip_blank_end` (axboe/fio, init.c, parse.c):

* `;` and `#` end a line at any position; an option is `key=value` or `key` alone;
* every section whose name starts with `global` is a [global] section, and applies to all jobs after
  it, never to those before it;
* keys are case-sensitive, and the last of two equal keys counts, but for `filename`, which adds up.

What fio reads in an unexpected way (control characters, lines longer than its buffer, `include`) is
refused, so that fio runs exactly the file that was checked.

fio replaces `${NAME}` by the environment's value of the process that reads the job file, which here
would be the measured machine's; diskbench replaces it before, so that the evidence holds the value
(fio's HOWTO, "Environment variables" and "Reserved keywords", 3.33).
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from diskbench.errors import ProfileError
from diskbench.fio.numbers import count_of
from diskbench.model.base import Frozen

MAX_LINE: Final = 4000
"""fio reads lines into 4,096 bytes and takes the rest of a longer one for a new line."""

_MOST = 10
"""How many lines that cannot be read a message lists."""
_SECTION = re.compile(r"^\[(.{1,200})\]$")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

ALIASES: Final = {
    "readwrite": "rw", "blocksize": "bs", "blockalign": "ba", "blocksize_range": "bsrange",
    "blocksize_unaligned": "bs_unaligned", "iodepth_batch_submit": "iodepth_batch",
    "iodepth_batch_complete": "iodepth_batch_complete_min", "io_limit": "io_size",
    "fill_fs": "fill_device", "fileoffset": "offset", "nr_files": "nrfiles",
    "timeout": "runtime", "iomem": "mem", "mem_align": "iomem_align", "ratemin": "rate_min",
    "ratecycle": "rate_cycle", "start_delay": "startdelay", "wait_for_previous": "stonewall",
    "disable_bw": "disable_bw_measurement", "ss": "steadystate",
    "ss_dur": "steadystate_duration", "ss_ramp": "steadystate_ramp_time",
    "ss_interval": "steadystate_check_interval", "log_max_value": "log_window_value",
}  # fmt: skip
"""Second names of fio options (`fio --cmdhelp=NAME`, 3.33; the last two from fio 3.42's list)."""
_WINDOWS: Final = re.compile(r"(?:[A-Za-z]:)?\\")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEYWORD = re.compile(r"\$(mb_memory|ncpus)\b")
"""Of fio's reserved keywords those that a machine's facts hold;`$pagesize` is not among them."""
_SECRET = re.compile(
    r"(secret|token|passw|credential|private|session|_key\b|access_key|api_?key)", re.IGNORECASE
)


class JobOption(Frozen):
    """One line of a section. `value` is None for a key without `=`; `line` counts from 1."""

    key: str
    value: str | None = None
    line: int = 0

    @property
    def name(self) -> str:
        """The option's first name: `blocksize` is `bs`."""
        return ALIASES.get(self.key, self.key)


class Section(Frozen):
    """A `[name]` and its options in order; of a job (`jobs`) also those of the globals before it.
    What is asked of its options is meaningful for a job."""

    name: str
    options: tuple[JobOption, ...] = ()

    @property
    def is_global(self) -> bool:
        """Whether fio applies its options to all jobs after it."""
        return self.name.startswith("global")

    def get(self, name: str) -> str | None:
        """The last value of an option; "" for a key without `=`, None without the key."""
        return next((o.value or "" for o in reversed(self.options) if o.name == name), None)

    def flag(self, name: str) -> bool:
        """Whether a switch is on: present and neither 0 nor false."""
        value = self.get(name)
        return value is not None and value.strip() not in {"0", "false"}

    @property
    def engine(self) -> str:
        """Its I/O engine in lower case; "" where it names none."""
        return (self.get("ioengine") or "").lower()

    @property
    def pattern(self) -> str:
        """What it does (`randrw`), without an offset modifier; fio's default is `read`."""
        return (self.get("rw") or "read").split(":")[0].lower()

    @property
    def read_percent(self) -> int:
        """The share of reads of a mix; `rwmixwrite` and `rwmixread` set one figure."""
        written = count_of(self.get("rwmixwrite") or "")
        read = count_of(self.get("rwmixread") or "")
        percent = 100 - written if written is not None else 50 if read is None else read
        return min(max(percent, 0), 100)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all `filename` options, which add up in fio."""
        values = (o.value for o in self.options if o.name == "filename" and o.value)
        return tuple(name for value in values for name in split_names(value))


Sections = tuple[Section, ...]
"""A whole job file, in order."""


def edited(sections: Sections, edit: Callable[[Section, JobOption], JobOption | None]) -> Sections:
    """The sections with each option as `edit` makes it; None takes it out."""
    made = []
    for section in sections:
        options = (edit(section, option) for option in section.options)
        kept = tuple(option for option in options if option is not None)
        made.append(section.model_copy(update={"options": kept}))
    return tuple(made)


def split_names(value: str) -> list[str]:
    """The names of a `filename` or `directory`, which fio splits at colons without a backslash
    (axboe/fio, options.c: get_next_str). A drive of Windows (`C:\\x`) is one name."""
    if _WINDOWS.match(value):
        return [value]
    return [part.replace("\\:", ":") for part in re.split(r"(?<!\\):", value)]


def is_absolute(name: str) -> bool:
    """Whether a name is a path from the root, or of Windows."""
    return name.startswith("/") or bool(_WINDOWS.match(name))


@lru_cache(maxsize=128)  # of a step the planner, its checks, its rows and its verdict ask for it
def parse(text: str) -> Sections:
    """The sections of a job file. Raises ProfileError naming every line that cannot be read."""
    file, mistakes = read(text)
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        listed = "\n  ".join(mistake.message for mistake in mistakes[:_MOST])
        if len(mistakes) > _MOST:
            listed += f"\n  and {len(mistakes) - _MOST} more"
        raise ProfileError(f"{len(mistakes)} mistakes:\n  {listed}", advice="correct these lines")
    return file


def read(text: str) -> tuple[Sections, tuple[ProfileError, ...]]:
    """The sections of a job file from the lines that can be read, and what is wrong with others."""
    sections: list[tuple[str, list[JobOption]]] = []
    mistakes: list[ProfileError] = []
    for number, raw in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        try:
            _add_line(raw, number, sections)
        except ProfileError as error:
            mistakes.append(error)
    parsed = tuple(Section(name=name, options=tuple(options)) for name, options in sections)
    if not mistakes and all(s.is_global for s in parsed):
        mistakes.append(
            ProfileError("the job file has no job", advice="add a [section] with rw= and size=")
        )
    return parsed, tuple(mistakes)


def _add_line(raw: str, number: int, sections: list[tuple[str, list[JobOption]]]) -> None:
    line = _clean(raw, number)
    if not line:
        return
    if line.startswith("["):
        match = _SECTION.match(line)
        if not match or not match[1].strip() or match[1] != match[1].strip():
            raise ProfileError(
                f"line {number}: {line!r} is not a section",
                advice="write nothing but [name] on its line",
            )
        sections.append((match[1], []))
        return
    if line.startswith("include"):
        raise ProfileError(
            f"line {number}: {line!r}: diskbench reads no included files",
            advice="put the included lines into the profile itself",
        )
    if not sections:
        raise ProfileError(
            f"line {number}: option {line!r} is before the first [section]",
            advice="put it under [global]",
        )
    key, equals, value = line.partition("=")
    key, value = key.strip(" \t"), value.strip(" \t")
    if not key:
        raise ProfileError(f"line {number}: {line!r} has no option name", advice="write key=value")
    option = JobOption(key=key, value=value if equals else None, line=number)
    sections[-1][1].append(option)


def jobs(sections: Sections) -> Sections:
    """The jobs in order, each with the options of the globals before it."""
    inherited: list[JobOption] = []
    jobs_read: list[Section] = []
    for section in sections:
        if section.is_global:
            inherited.extend(section.options)
        else:
            options = (*inherited, *section.options)
            jobs_read.append(section.model_copy(update={"options": options}))
    return tuple(jobs_read)


def groups(file: Sections) -> tuple[Sections, ...]:
    """The stonewall groups in order; each runs alone as it would within the whole file.

    A job with `stonewall` (its own or a global's) begins a group; its clones (`numjobs`) belong to
    the same group, since fio clears the flag for them. `stonewall` is removed, because nothing
    precedes a group in its own process, and so is `wait_for` on a job of an earlier group.
    """
    job_groups: list[Sections] = []
    inherited: list[Section] = []
    members: list[Section] = []
    all_jobs = jobs(file)
    walls = any(job.flag("stonewall") for job in all_jobs[1:])
    if walls and (ends := next((j for j in all_jobs if j.get("exit_what") == "all"), None)):
        raise ProfileError(
            f"[{ends.name}]: exit_what=all ends jobs behind a stonewall, but those are steps of "
            "their own here",
            advice="use exit_what=group, or take the stonewall out",
        )
    effective_jobs = iter(all_jobs)
    for section in file:
        if section.is_global:
            inherited.append(section)
            members.append(section)
            continue
        is_first = all(s.is_global for s in members)
        if next(effective_jobs).flag("stonewall") and not is_first:
            job_groups.append(_group(members))
            members = list(inherited)
        members.append(section)
    job_groups.append(_group(members))
    return tuple(job_groups)


def write(sections: Sections) -> str:
    """The text of a job file; `parse` of it returns the same sections."""
    blocks = []
    for section in sections:
        lines = [f"[{section.name}]"]
        lines += [o.key if o.value is None else f"{o.key}={o.value}" for o in section.options]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _group(members: list[Section]) -> Sections:
    while members and members[-1].is_global:
        members = members[:-1]
    names = {s.name for s in members if not s.is_global}

    def stays(_: Section, option: JobOption) -> JobOption | None:
        is_left = option.name == "wait_for" and option.value not in names
        return None if is_left or option.name == "stonewall" else option

    return edited(tuple(members), stays)


def _clean(raw: str, number: int) -> str:
    if len(raw.encode(errors="surrogateescape")) > MAX_LINE:
        raise ProfileError(
            f"line {number} is longer than {MAX_LINE} bytes, which fio would cut in two",
            advice="shorten the line",
        )
    if control := _CONTROL.search(raw):
        raise ProfileError(
            f"line {number} holds the control character {control.group()!r}", advice="remove it"
        )
    return re.split(r"[;#]", raw, maxsplit=1)[0].strip(" \t")


def variables(text: str) -> tuple[str, ...]:
    """The names of the variables that a job file uses outside comments, each once, in order."""
    lines = (re.split(r"[;#]", line, maxsplit=1)[0] for line in text.split("\n"))
    return tuple(dict.fromkeys(name for line in lines for name in _VARIABLE.findall(line)))


def may_be_secret(name: str) -> bool:
    """Whether a variable's name says that its value is a secret, which evidence must not hold."""
    return bool(_SECRET.search(name))


def expand_variables(text: str, values: Mapping[str, str]) -> str:
    """The job file with its variables replaced; comments stay as they are."""
    return _replaced(text, values, _VARIABLE)


def keywords(text: str, *, cores: int, memory_mib: int) -> str:
    """The job file with fio's keywords replaced by the figures of the machine that is measured."""
    return _replaced(text, {"ncpus": str(cores), "mb_memory": str(memory_mib)}, _KEYWORD)


def _replaced(text: str, values: Mapping[str, str], form: re.Pattern[str]) -> str:
    lines = []
    for line in text.split("\n"):
        option = re.split(r"[;#]", line, maxsplit=1)[0]
        lines.append(form.sub(lambda match: values[match[1]], option) + line[len(option) :])
    return "\n".join(lines)
