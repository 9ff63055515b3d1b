"""Which reports of fio in a file are runs of each other, and which are steps of one run.

Jobs of a group ran at the same time and are one step; groups ran one after another. Reports are
runs where their loads are alike: pattern, block, depth, jobs, size and what else changes the work.
Reports of jobs of one name with several loads (a script that calls every job `test`) are steps of
one run, until a load comes again. A step whose name has several loads in the file has what tells
them apart in its name: `test-randread`, `test-4k-qd32`.

What a report does not say of a load follows from its counts: its directions, and its block as
bytes / I/Os.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from diskbench.fio.declared import blocks_text, numjobs, options_of, rw_of
from diskbench.fio.numbers import bytes_of
from diskbench.fio.reported import FioJob, FioOutput
from diskbench.fio.rows import whole_block
from diskbench.importers.form import LONGEST_NAME, step_of
from diskbench.model.spec import Step
from diskbench.units import GIB, KIB, MIB

_Load = tuple[tuple[str, str], ...]
_Loads = frozenset[_Load]
_NAMED: Final = ("rw", "bs", "iodepth", "numjobs", "size")
_ALSO: Final = (
    "direct", "ioengine", "rwmixread", "rwmixwrite", "fsync", "fdatasync", "sync", "rate",
    "rate_iops", "random_distribution", "percentage_random", "io_submit_mode", "offset",
)  # fmt: skip
"""Options that are not in a step's name and change what is done as much as those that are."""


_Key = tuple[str, _Loads]
"""Of the jobs of a report that ran at the same time: their names, and the load of each."""
_Groups = list[tuple[_Key, FioOutput]]
"""The groups of a report, each with its part of it."""


def split_runs(outputs: Sequence[FioOutput]) -> tuple[tuple[tuple[Step, FioOutput], ...], ...]:
    """The runs in the reports of a file, in order: the steps of each with their part of a
    report."""
    reports = _comparable([_groups(output) for output in outputs])
    names = _names(key for groups in reports for key, _ in groups)
    runs: list[_Groups] = []
    for groups in reports:
        # a report of other loads of the same jobs is of the same run
        done = {key for key, _ in runs[-1]} if runs else set()
        keys = {key for key, _ in groups}
        same_name = {name for name, _ in done} & {name for name, _ in keys}
        if same_name and not done & keys:
            runs[-1] += groups
        else:
            runs.append(groups)
    return tuple(
        tuple((step_of(index, names[key]), part) for index, (key, part) in enumerate(run))
        for run in runs
    )


def _groups(output: FioOutput) -> _Groups:
    by_number: dict[int, list[FioJob]] = {}
    for job in output.jobs:
        by_number.setdefault(job.group, []).append(job)
    made: _Groups = []
    for number, jobs in sorted(by_number.items()):
        entries = Counter((job.name, job.host) for job in jobs)
        loads = frozenset(_load(job, output, entries[job.name, job.host]) for job in jobs)
        beside = tuple(job for job in output.jobs if job.group != number)
        part = replace(output, jobs=tuple(jobs), beside=beside)
        made.append(((_step_name(jobs), loads), part))
    return made


def _comparable(reports: Sequence[_Groups]) -> list[_Groups]:
    """The groups, without their blocks where one of their name has none: nothing then tells that
    it is another load."""
    keys = [key for groups in reports for key, _ in groups]
    unknown = {name for name, loads in keys for load in loads if ("bs", "") in load}

    def comparable(name: str, loads: _Loads) -> _Key:
        if name in unknown:
            without = (tuple((k, "" if k == "bs" else v) for k, v in load) for load in loads)
            loads = frozenset(without)
        return name, loads

    return [[(comparable(*key), part) for key, part in groups] for groups in reports]


def _load(job: FioJob, output: FioOutput, entries: int) -> _Load:
    options = options_of(job, output, {})
    moved = {way: stats for way, stats in job.directions.items() if way != "sync" and stats.ios}
    rw = rw_of(options)
    if rw is None:
        blocks = (whole_block(of_way) for of_way in moved.values())
        block = ",".join(dict.fromkeys(str(size or "") for size in blocks))
    else:
        block = blocks_text(options)
    load = {
        "rw": rw or "+".join(moved),
        "bs": ",".join(_exact(part) for part in block.split(",")),
        "iodepth": options.get("iodepth") or ("1" if rw else ""),
        "numjobs": str(max(numjobs(options), entries)),
        "size": _exact(options.get("size") or options.get("filesize") or ""),
    } | {name: options.get(name, "") for name in _ALSO}
    device = options.get("filename", "")
    return (*load.items(), ("filename", device if device.startswith("/dev/") else ""))


def _exact(size: str) -> str:
    value = bytes_of(size)
    return size if value is None else str(value)


def _names(keys: Iterable[_Key]) -> Mapping[_Key, str]:
    """What each step is called, by the names of its jobs and their loads."""
    of_name: dict[str, list[_Key]] = {}
    for key in dict.fromkeys(keys):
        of_name.setdefault(key[0], []).append(key)
    return {
        key: _name_of_load(name, [loads for _, loads in several], number)
        for name, several in of_name.items()
        for number, key in enumerate(several, 1)
    }


def _name_of_load(name: str, several: Sequence[_Loads], number: int) -> str:
    """The name of a step, with what tells it from the other loads of its name, or its number."""
    if len(several) == 1:
        return name
    told = [_load_words(of_step) for of_step in several]
    mine, parts = told[number - 1], [p for p in _NAMED if len({each[p] for each in told}) > 1]
    few = range(1, len(parts))
    fewest = next((n for n in few if len({_part_of(t, parts[:n]) for t in told}) == len(told)), 0)
    suffix = "-".join(filter(None, _part_of(mine, parts[:fewest] if fewest else parts)))
    alike = sum(_part_of(each, parts) == _part_of(mine, parts) for each in told)
    if alike > 1:
        suffix = f"{suffix}-{number}" if suffix else str(number)
    return f"{name[: LONGEST_NAME - 1 - len(suffix)]}-{suffix}"


def _part_of(told: Mapping[str, str], parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(told[part] for part in parts)


def _load_words(loads: _Loads) -> Mapping[str, str]:
    """What the jobs of a step do, in words of a name: `randread`, `4k`, `qd32`, `4jobs`."""
    told = {}
    for part in _NAMED:
        values = sorted({value for load in loads for key, value in load if key == part and value})
        told[part] = "+".join(_WORDS[part](value) for value in values)
    return told


def _size(value: str) -> str:
    """`4096` as `4k`; sizes of several directions and ranges with a `+` between them."""
    sizes = [int(size) if size.isdecimal() else size for size in value.split(",")]
    return "+".join(
        size if isinstance(size, str) else _short(size) for size in dict.fromkeys(sizes)
    ).replace("/", "_")


def _short(size: int) -> str:
    for unit, letter in ((GIB, "g"), (MIB, "m"), (KIB, "k")):
        if size and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)


_WORDS: Final[Mapping[str, Callable[[str], str]]] = {
    "rw": lambda pattern: pattern,
    "bs": _size,
    "iodepth": lambda depth: f"qd{depth}",
    "numjobs": lambda jobs: f"{jobs}jobs",
    "size": _size,
}


def _step_name(jobs: Sequence[FioJob]) -> str:
    names = "+".join(dict.fromkeys(job.name for job in jobs))
    if len(names) <= LONGEST_NAME or len(jobs) == 1:
        return names
    more = f"+{len(jobs) - 1} jobs"
    return jobs[0].name[: LONGEST_NAME - len(more)] + more
