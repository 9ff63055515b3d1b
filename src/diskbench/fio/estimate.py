"""What a job will move, from its options and without running it: seconds, bytes, and how often the
blocks that a step reads were written before it (docs/METHOD.md, MR-1).

Time-based jobs state their time. The time of the others is estimated at the rate of a modest
network disk, which is stated here and in the plan; a real disk may be faster or slower.

Reads of blocks that were never written do not reach the medium: a cloud's block store, a thin disk
or a drive's map answers them. Of what wrote them only work bound by size counts, because the bytes
that a timed step writes are not known. fio writes a missing file once in full before it reads it
(fio 3.x, filesetup.c).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from diskbench.fio.declared import Case
from diskbench.fio.jobfile import Section, jobs, parse
from diskbench.fio.numbers import blocks_of, count_of, percent_of, range_of, seconds_of
from diskbench.model.doubts import COMPRESSIBLE, FILLED_ONCE, UNWRITTEN
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Filled, Step
from diskbench.units import MIB

ASSUMED_BYTES_PER_S: Final = 100e6
"""Rate at which work bound by size is estimated: a gp2 or premium disk of the smaller sizes."""
ASSUMED_IOPS: Final = 3000
"""Random or synced operations per second of the same disk."""
ASSUMED_FILES_PER_S: Final = 10_000
"""Files created, examined or deleted per second."""
ASSUMED_CALLS_PER_S: Final = 1_000_000
"""Reads or writes of a few bytes that one core passes to the page cache per second."""
FIO_BLOCK_BYTES: Final = 4096
"""fio's default block size (HOWTO, "blocksize")."""
METADATA_ENGINES: Final = frozenset(
    {"filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"}
)


def seconds(text: str | None) -> float:
    """Seconds of a fio time (`10`, `5m`, `300ms`); of a range its end; 0 where there is none."""
    return seconds_of((text or "").split("-")[-1]) or 0.0


def size_bytes(text: str | None, capacity_bytes: int | None = None) -> int | None:
    """Bytes of a fio size (`4k`, `10%` of the capacity, the end of a range); None when unknown."""
    text = text or ""
    share = percent_of(text)
    if share is not None:
        return capacity_bytes * share // 100 if capacity_bytes else None
    size_range = range_of(text)
    return size_range[1] if size_range else None


def count(job: Section, name: str, default: int = 1) -> int:
    """The value of an option that is a whole number; `default` where it is missing or no number."""
    number = count_of(job.get(name) or "")
    return default if number is None else number


def block_sizes(job: Section) -> tuple[int, ...]:
    """The block sizes of a job in bytes; fio's default where it names none."""
    names = ("bs", "bsrange", "bssplit")
    sizes = (blocks_of(name, job.get(name) or "") or () for name in names)
    return tuple(chain.from_iterable(sizes)) or (FIO_BLOCK_BYTES,)


def request_sizes(job: Section) -> tuple[int, ...]:
    """The request sizes of a job in bytes; empty for a job that reaches no data of a disk."""
    return () if job.engine in {"null", *METADATA_ENGINES} else block_sizes(job)


def expected_s(jobs: Iterable[Section], capacity_bytes: int | None) -> float:
    """Seconds that the jobs of one step take together.

    The jobs run at the same time: the longest of the timed ones counts. Work bound by size adds up
    at ASSUMED_BYTES_PER_S, ASSUMED_IOPS or ASSUMED_FILES_PER_S.
    """
    timed = [0.0]
    bound = 0.0
    for job in jobs:
        before = seconds(job.get("startdelay")) + seconds(job.get("ramp_time"))
        runtime = seconds(job.get("runtime"))
        if job.flag("time_based") and runtime:
            timed.append(before + runtime)
            continue
        work = _work_s(job, capacity_bytes)
        timed.append(before)
        bound += min(work, runtime) if runtime else work
    return max(timed) + bound


def moved_bytes(job: Section, capacity_bytes: int | None) -> int:
    """Bytes that one clone of a job bound by size moves in all its loops. Percentages are of
    `capacity_bytes`."""
    devices = sum(name.startswith("/") for name in job.files)
    of_each = devices if percent_of(job.get("size") or "") is not None and devices else 1
    io = size_bytes(job.get("io_size"), capacity_bytes) or of_each * (
        size_bytes(job.get("size"), capacity_bytes) or 0
    )
    io = io or size_bytes(job.get("filesize"), capacity_bytes) or (capacity_bytes or 0) * devices
    io *= count(job, "loops") or 1
    if limit := count(job, "number_ios", 0):
        block = size_bytes((job.get("bs") or "4k").split(",")[0]) or 4096
        io = int(min(io / block or limit, limit) * block)
    return io


def _work_s(job: Section, capacity_bytes: int | None) -> float:
    clones = count(job, "numjobs")
    if job.engine in METADATA_ENGINES:
        return count(job, "nrfiles") * clones / ASSUMED_FILES_PER_S
    block = size_bytes((job.get("bs") or "4k").split(",")[0]) or 4096
    io = moved_bytes(job, capacity_bytes)
    operations = io / block
    if rate := size_bytes((job.get("rate") or "").split(",")[0]):
        return io / rate
    if rate_iops := count(job, "rate_iops", 0):
        return operations / rate_iops
    each_waits = "rand" in job.pattern or syncs_each(job)
    slowest = operations / ASSUMED_IOPS if each_waits else 0.0
    return max(io / ASSUMED_BYTES_PER_S, operations / ASSUMED_CALLS_PER_S, slowest) * clones


def syncs_each(job: Section) -> bool:
    """Whether a job waits until each of its writes is stored."""
    return any(job.get(name) not in {None, "0", "none"} for name in ("fsync", "fdatasync", "sync"))


def file_bytes(job: Section, capacity_bytes: int | None) -> dict[str, int]:
    """Bytes on the target by file, as fio lays them out; a raw device is one file, named by path.

    `filename=a:b` shares the size between its files; without `filename` each clone and each of
    `nrfiles` has its own. Metadata engines write no data: 4 KiB a file for the inode.
    """
    clones, files = count(job, "numjobs"), count(job, "nrfiles")
    if job.engine == "null":
        return {}
    total = size_bytes(job.get("size"), capacity_bytes)
    per_file = size_bytes(job.get("filesize"), capacity_bytes)
    if job.engine in METADATA_ENGINES:
        return {f"{_pattern(job)}({files} files)": files * clones * 4096}
    # fio extends a file by an offset in bytes, but not by an offset in percent.
    end = size_bytes(job.get("offset"), capacity_bytes) or 0
    end += (size_bytes(job.get("offset_increment"), capacity_bytes) or 0) * max(clones - 1, 0)
    if named := job.files:
        # A share is one of each file; bytes are divided between them (fio 3.33, tried).
        shares = percent_of(job.get("size") or "") is not None
        part = (total or 0) // (1 if shares else len(named))
        return {n: _named_bytes(n, part, per_file, end, capacity_bytes) for n in named}
    per_clone = (per_file * files if per_file else total) or 0
    # A pattern without the job's name or number gives every clone the same files.
    shared = "$job" not in _pattern(job)
    return {_pattern(job): (per_clone + end * files) * (1 if shared else clones)}


def _named_bytes(name: str, part: int, per_file: int | None, end: int, capacity: int | None) -> int:
    """Bytes of a named file of which a job uses `part`, up to its end. Of a device without `size`
    fio uses `filesize` bytes, at most and without it all of it, whatever the offsets are (3.33,
    tried)."""
    if part or not name.startswith("/"):
        return (part if name.startswith("/") else per_file or part) + end
    return min((size for size in (per_file, capacity) if size is not None), default=0)


def _pattern(job: Section) -> str:
    """The pattern of a job's file names; jobs with the same pattern share files."""
    pattern = job.get("filename_format") or "$jobname.$jobnum.$filenum"
    return pattern.replace("$jobname", f"{job.name}$job")


def round_up_mib(count_bytes: int) -> int:
    """The next whole MiB."""
    return -(-count_bytes // MIB) * MIB


def space_bytes(steps: Iterable[Step], capacity_bytes: int | None = None) -> int:
    """Bytes of the target that the steps use, in whole MiB: each file at its largest.

    Steps that share a file (by name) share its space. Percentages refer to `capacity_bytes`.
    """
    return round_up_mib(sum(largest_bytes(steps, capacity_bytes).values()))


def largest_bytes(steps: Iterable[Step], capacity_bytes: int | None = None) -> dict[str, int]:
    """Bytes that the steps use of each file, or of each device by its path, as `space_bytes`."""
    largest: dict[str, int] = {}
    for step in steps:
        for job in jobs(parse(step.job)):
            for name, size in file_bytes(job, capacity_bytes).items():
                largest[name] = max(largest.get(name, 0), size)
    return largest


NETWORK_PASSES: Final = 1
LOCAL_PASSES: Final = 2
ENOUGH: Final = 0.99
"""Sizes are rounded to whole blocks; our choice."""
_SHRINKS = ("zero_buffers", "buffer_pattern", "buffer_compress_percentage", "dedupe_percentage")
_WRITES = frozenset({"write", "randwrite"})
MIXED = frozenset({"rw", "readwrite", "randrw"})
"""Patterns of reads and writes."""
_READS = MIXED | {"read", "randread"}


_Written = tuple[float, str | None]
"""Bytes that a job wrote to a file, and the option by which a disk can shrink them."""


def with_filled(
    steps: Sequence[Step], *, capacity_bytes: int | None, least_passes: int, files: bool
) -> tuple[Step, ...]:
    """The steps, each with how often the blocks that it reads were written before. `files`: the
    target is a directory, in which fio writes missing files in full."""
    written: dict[str, list[_Written]] = defaultdict(list)
    steps_filled = []
    for step in steps:
        of_step = jobs(parse(step.job))
        fills = [
            _filled(written[name], size, least_passes, files=files)
            for job in of_step
            if job.pattern in _READS and job.engine not in METADATA_ENGINES
            for name, size in file_bytes(job, capacity_bytes).items()
            if size
        ]
        worst = min(fills, key=lambda filled: (filled.passes, filled.shrinks is None), default=None)
        steps_filled.append(step.model_copy(update={"filled": worst}) if worst else step)
        for job in of_step:
            _write(job, written, capacity_bytes)
    return tuple(steps_filled)


def fill_doubts(case: Case) -> Iterator[Warning]:
    """The doubt in a step that reads blocks which were written never, too seldom, or with data that
    a disk can compress or deduplicate."""
    filled = case.step.filled
    if filled is None or case.step.role == "fill":
        return
    if filled.passes < ENOUGH:
        part = "none" if not filled.passes else f"only {filled.passes:.0%}"
        yield UNWRITTEN.warning(
            f"{part} of the blocks that it reads had been written before",
            advice="a disk answers such reads without I/O: write the blocks first, as the fill "
            "step of the shipped profiles does",
        )
    elif filled.shrinks is not None:
        yield COMPRESSIBLE.warning(
            f"the blocks that it reads hold {filled.shrinks}: a disk can compress that"
        )
    elif filled.passes < filled.wanted * ENOUGH:
        yield FILLED_ONCE.warning(
            f"the blocks that it reads were written {filled.passes:.2g} times; a local NVMe drive "
            f"needs {filled.wanted} times"
        )


def _filled(written: Sequence[_Written], size: int, least_passes: int, *, files: bool) -> Filled:
    if not written:
        return Filled(passes=1.0 if files else 0.0, wanted=least_passes)
    kept = sum(amount for amount, shrinks in written if shrinks is None)
    shrinks = next((option for _, option in written if option), None)
    return Filled(
        passes=sum(amount for amount, _ in written) / size,
        wanted=least_passes,
        shrinks=shrinks if kept < ENOUGH * size else None,
    )


def _write(job: Section, written: dict[str, list[_Written]], capacity_bytes: int | None) -> None:
    """Add the bytes that a job writes, as far as its options say, to those of its files."""
    share = 1 - job.read_percent / 100 if job.pattern in MIXED else float(job.pattern in _WRITES)
    if not share:
        return
    shrinks = next((name for name in _SHRINKS if job.get(name) not in (None, "0")), None)
    amount = 0.0 if job.flag("time_based") else share * moved_bytes(job, capacity_bytes)
    files = file_bytes(job, capacity_bytes)
    amount *= count(job, "numjobs") / max(len(files), 1)
    for name in files:
        written[name].append((amount, shrinks))
