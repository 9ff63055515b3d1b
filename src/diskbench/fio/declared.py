"""The options of each job, from the job file, and the log files that they name. fio's JSON leaves
options out (axboe/fio #237), so it is used only where there is no job file (imports).

fio writes `<prefix>_<kind>.<number>.log` (init.c). The prefix is the value of write_bw_log,
write_iops_log, write_lat_log or write_hist_log, and the job's name where the option has no value.
The number is that of the job in the whole process, from 1; clones (numjobs) count one by one. With
per_job_logs=0 there is no number.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from diskbench.errors import ProfileError
from diskbench.fio.jobfile import ALIASES, jobs, parse
from diskbench.fio.logs import LogKind, LogName
from diskbench.fio.numbers import DEFAULT_BLOCK, bytes_of, count_of, sizes_of
from diskbench.fio.reported import FioJob, FioOutput
from diskbench.model.facts import HostFacts
from diskbench.model.processor import MachineUse
from diskbench.model.result import Direction, Measurement
from diskbench.model.spec import Step
from diskbench.units import NS_PER_S

_BLOCK_POSITION = {"read": 0, "write": 1, "trim": 2}
_OFF = frozenset({"0", "false", "no"})
SYNCS: Final = frozenset(
    ("fsync", "fdatasync", "sync", "sync_file_range", "end_fsync", "fsync_on_close")
)
"""Options that let a job wait until what it wrote is stored."""
_REPORTED_SYNCS = SYNCS - {"sync"}
"""Those whose waits fio reports by themselves."""
_UNTIMED = ("gtod_reduce", "disable_clat")

Options = Mapping[str, str]
_SIZES = ("bs", "bsrange", "bssplit")
PATTERN = frozenset({"rw", "iodepth", *_SIZES})
"""The options that say what a load is; an entry that sums up several has none of its own."""
_SUMMED_S = 1.0
"""From this run time on, the sum of its members' run times tells their number."""
_EACH = 0.9
_ENDED_TOGETHER = 0.05
"""What the times of one job may differ by, as a share; our choice (tried: 0.3 %)."""
_OPTION: Final[Mapping[LogKind, str]] = {
    "bw": "write_bw_log", "iops": "write_iops_log", "lat": "write_lat_log",
    "clat": "write_lat_log", "slat": "write_lat_log", "hist": "write_hist_log",
}  # fmt: skip


def declared(job_text: str) -> dict[str, Options]:
    """Section name → its options with those of every [global…] above it, by fio's first names.

    Empty where there is no job file, or fio/jobfile.py refuses it.
    """
    if not job_text.strip():
        return {}
    try:
        declared_jobs = jobs(parse(job_text))
    except ProfileError:
        return {}
    return {
        job.name: first_names((option.key, option.value or "") for option in job.options)
        for job in declared_jobs
    }


def options_of(job: FioJob, output: FioOutput, sections: Mapping[str, Options]) -> Options:
    """The options of one reported job: from its section, else from fio's JSON. Of an entry that
    sums up several sections, what they have in common."""
    if job.name in sections:
        own = sections[job.name]
        return common(tuple(sections.values())) if sums_up_others(job, own) else own
    return first_names((*output.options.items(), *job.options.items()))


def sums_up_others(job: FioJob, options: Options) -> bool:
    """Whether an entry sums up jobs of other sections than the one with these options, as with
    group_reporting: fio names the first section and lists the options of the last (stat.c). Its
    job_runtime is then a sum over more jobs than the section starts. A verify phase adds to that of
    a single job, so it tells nothing there."""
    wall_ns = max((stats.runtime_ns for stats in job.directions.values()), default=0)
    if not job.run_ms or wall_ns < _SUMMED_S * NS_PER_S or "verify" in options:
        return False
    return job.run_ms * 1_000_000 / wall_ns > numjobs(options) + _ENDED_TOGETHER


def common(sections: Sequence[Options]) -> Options:
    """What jobs that are summed up have in common. Blocks of several sizes are a range; a depth or
    a pattern that differs is none."""
    first, *others = sections
    if not others:
        return first
    alike = {k: v for k, v in first.items() if all(other.get(k) == v for other in others)}
    if len({rw_of(one) for one in sections}) > 1:
        return {k: v for k, v in alike.items() if k not in PATTERN}
    if len({tuple(map(one.get, _SIZES)) for one in sections}) > 1:
        sizes = [size or 0 for one in sections for size in sizes_of(blocks_text(one))]
        alike |= {"bsrange": f"{min(sizes)}-{max(sizes)}"} if all(sizes) else {"rw": ""}
    if len({one.get("iodepth", "1") for one in sections}) > 1:
        alike["iodepth"] = ""
    return alike | {"group_reporting": "1", "numjobs": str(sum(map(numjobs, sections)))}


def options_known(job: FioJob, output: FioOutput) -> bool:
    """Whether a report says what a job was asked to do. fio's JSON lists what was given, so an
    option that is not among others has fio's default; where none is listed, nothing is known. The
    other formats list a few options, or none."""
    if not output.lists_options:
        return "rw" in job.options
    return bool((set(job.options) | set(output.options)) - {"name"})


def is_direct(job: FioJob, output: FioOutput, sections: Mapping[str, Options]) -> bool | None:
    """Whether a reported job did direct I/O; None where nothing says it."""
    options = options_of(job, output, sections)
    if "direct" in options:
        return is_set(options, "direct")
    told = job.name in sections or options_known(job, output)
    return False if output.lists_options and told else None


def first_names(options: Iterable[tuple[str, str]]) -> Options:
    """Options by their first names; of two with one name the last counts. `buffered` is the inverse
    of `direct` (axboe/fio, options.c: both set odirect)."""
    first: dict[str, str] = {}
    for key, value in options:
        name = ALIASES.get(key, key)
        if name == "buffered":
            first["direct"] = "1" if value in _OFF else "0"
        else:
            first[name] = value
    return first


def rw_of(options: Options) -> str | None:
    """The pattern (`randread`, `rw` …) without its offset modifier; None where no option says."""
    value = options.get("rw")
    return value.split(":")[0] or None if value else None


def directions_of(options: Options) -> tuple[Direction, ...]:
    """The directions that the pattern asks for; empty where no option says."""
    rw = rw_of(options) or ""
    if rw in ("rw", "readwrite", "randrw"):
        return ("read", "write")
    if rw in ("trimwrite", "randtrimwrite"):
        return ("write", "trim")
    kinds: tuple[Direction, ...] = ("read", "write", "trim")
    return tuple(kind for kind in kinds if rw.removeprefix("rand") == kind)


def reported_of(job_text: str) -> tuple[frozenset[str], bool]:
    """What fio reports of a step: its directions, and `sync` where a job syncs; and whether it
    times any of its I/Os."""
    sections = declared(job_text).values()
    found = {way for options in sections for way in directions_of(options) or ("read",)}  # default
    if any(is_set(options, name) for options in sections for name in _REPORTED_SYNCS):
        found.add("sync")
    is_timed = any(not any(is_set(options, name) for name in _UNTIMED) for options in sections)
    return frozenset(found), is_timed


def block_bytes(options: Options, direction: Direction) -> int | None:
    """Bytes of one I/O; None for mixed sizes, for sync and where no option says."""
    if direction not in _BLOCK_POSITION or not options.get("rw"):
        return None
    if "bssplit" in options or "bsrange" in options:
        return None
    parts = [part.strip() for part in options.get("bs", DEFAULT_BLOCK).split(",")]
    position = _BLOCK_POSITION[direction]
    # fio: a size that is left out is the one before it; an empty one is the default.
    text = parts[position] if position < len(parts) else parts[-1]
    return bytes_of(text or DEFAULT_BLOCK)


def blocks_text(options: Options) -> str:
    """What says the block sizes of a job, which may be several; fio's default without options."""
    return options.get("bssplit") or options.get("bsrange") or options.get("bs") or DEFAULT_BLOCK


def iodepth(options: Options) -> int | None:
    """Requested queue depth of one job; fio's default is 1. None where no option says."""
    return count_of(options.get("iodepth", "1" if options.get("rw") else ""))


def numjobs(options: Options) -> int:
    """How many clones of the section run."""
    return max(count_of(options.get("numjobs", "1")) or 1, 1)


def is_grouped(job: FioJob, output: FioOutput, options: Options) -> bool:
    """Whether an entry may sum up several jobs (group_reporting). fio's JSON lacks the option where
    it was given outside the job; then an entry for fewer jobs than `numjobs` shows it."""
    if is_set(options, "group_reporting"):
        return True
    entries = sum(entry.name == job.name and entry.host == job.host for entry in output.jobs)
    return entries < numjobs(options)


def is_set(options: Options, name: str) -> bool:
    """Whether a switch is on: `direct`, `direct=1`, but not `direct=0` nor its absence."""
    return options.get(name, "0") not in _OFF


@dataclass(frozen=True, slots=True)
class NamedLogs:
    """The logs that one entry of a document names: option → prefix, and the numbers of its jobs.

    `counted`: `numbers` is complete. With group_reporting an entry may sum up jobs of several
    sections, and only those of the first are known.
    """

    group: int
    prefixes: Mapping[str, str]
    numbers: range
    counted: bool


def named_logs(output: FioOutput) -> tuple[NamedLogs, ...]:
    """What each entry of a document names; none where it names no log (fio 2 lists no options)."""
    named = []
    number = 1
    for job in output.jobs:
        options = options_of(job, output, {})
        grouped = is_grouped(job, output, options)
        clones = numjobs(options) if grouped else 1
        prefixes = {
            option: (options[option].rpartition("/")[2] or job.name)
            for option in dict.fromkeys(_OPTION.values())
            if option in options
        }
        if prefixes:
            numbers = range(number, number + clones)
            named.append(NamedLogs(job.group, prefixes, numbers, counted=not grouped))
        number += clones
    return tuple(named)


def group_of(log: LogName, named: tuple[NamedLogs, ...]) -> int | None:
    """The group (step) of a document that a log belongs to; None where it names no such log, or
    several groups name it and the job number does not decide."""
    option = _OPTION[log.kind]
    matching = [entry for entry in named if entry.prefixes.get(option) == log.prefix]
    if log.job:
        exact = [entry for entry in matching if log.job in entry.numbers]
        matching = exact or [entry for entry in matching if not entry.counted]
    groups = {entry.group for entry in matching}
    return groups.pop() if len(groups) == 1 else None


@dataclass(frozen=True)
class Case:
    """A measured step and all that its checks look at. `samples` is None where the machine was not
    sampled; `files` are the step's evidence (name → bytes), empty for an import."""

    step: Step
    rows: Sequence[Measurement]
    output: FioOutput
    facts: HostFacts
    samples: MachineUse | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)

    @cached_property
    def sections(self) -> Mapping[str, Options]:
        """The options of each section of its job file."""
        return declared(self.step.job)

    @cached_property
    def jobs(self) -> tuple[tuple[FioJob, Options], ...]:
        """Each reported job with its options."""
        output, sections = self.output, self.sections
        return tuple((job, options_of(job, output, sections)) for job in output.jobs)

    @property
    def options(self) -> list[Options]:
        """The options of each reported job."""
        return [options for _, options in self.jobs]

    @property
    def merged(self) -> list[Measurement]:
        """The merged row of each direction in which it did I/O, without syncs."""
        rows = (row for row in self.rows if row.scope == "step" and row.direction != "sync")
        return [row for row in rows if row.did_io]


def job_text(output: FioOutput) -> str:
    """A job file made from the options in fio's JSON, with a section for each job. Clones that fio
    reports separately become one section. fio leaves options out (axboe/fio #237), so the file may
    hold fewer options than the original. Empty where a job has none at all: they are not known, and
    fio's defaults are not taken for them."""
    if not all(options_known(job, output) for job in output.jobs):
        return ""
    sections = {}
    for job in output.jobs:
        options = {**output.options, **job.options}
        options.pop("name", None)
        if not output.lists_options and _waits(job):
            options["fsync"] = "1"
        sections[job.name, *sorted(options.items())] = (job.name, options)
    return "\n".join(
        f"[{name.replace('[', '(').replace(']', ')').strip() or 'job'}]\n"
        + "".join(f"{key}={value}\n" for key, value in options.items())
        for name, options in sections.values()
    )


def _waits(job: FioJob) -> bool:
    """Whether there are as many syncs as writes: each write then waits for its own, which a text
    shows by its counts alone."""
    syncs, writes = (job.directions.get(way) for way in ("sync", "write"))
    if syncs is None or writes is None or not syncs.counted or not writes.ios:
        return False
    return syncs.ios >= _EACH * writes.ios
