"""Why a published figure and a run of ours may differ, in plain words.

One published figure beside what a run measured of the same workload, and why they may differ.

    theirs    the published value
    ours      of the runs' merged rows of the figure's step: the mean over the runs, as the posts
              give means; for a latency the mean of all I/Os; the least and the longest for extremes
    ratio     ours / theirs; 2 is twice as much, which for a latency is twice as slow

One figure without its spread beside another proves nothing: this sets them side by side and tests
no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import fmean

from diskbench.catalog.post_file import Metric, Published
from diskbench.catalog.published import RunSubject
from diskbench.model.result import (
    Measurement,
    Warning,  # noqa: A004 - the field's word
)

_MARKS = {
    "emulated": "ours is emulated: its disk is an imitation, not a cloud's",
    "unverified": "ours is unverified: machine and disk were not checked to be what they claim",
    "imported": "ours was imported: another program measured it, on a disk that was not checked",
}
_RUNTIME_FACTOR = 2.0
"""Steps that lasted more than twice or less than half as long are mentioned. Our choice."""
_MEMORY_FACTOR = 1.25
"""The same of memory. Our choice."""
_CACHES = {
    "dropped": "both read through the page cache, dropped before: what is read ahead counts",
    "kept": "both go through the page cache: memory may answer for the disk, on either side",
}
_BY_MEMORY = frozenset({"gobonniego", "bonnie"})
"""Profiles whose file is twice the memory."""


def differences(
    asked: RunSubject,
    pairs: Sequence[Beside],
    *,
    marks: Iterable[str] = (),
    warnings: Iterable[Warning] = (),
    year: int | None = None,
) -> tuple[str, ...]:
    """Reasons, the strongest first, each once. `marks` are ours (emulated, unverified, imported),
    `warnings` what to doubt in our steps, `year` is that of our run."""
    reasons = [_MARKS[mark] for mark in _MARKS if mark in set(marks)]
    figures = [pair.figure for pair in pairs]
    reasons += _ours_doubted({figure.step for figure in figures}, warnings)
    reasons += [f"theirs is doubted ({d.code}): {d.words}" for f in figures if (d := f.doubt)]
    reasons += [words for figure in figures for words in _disk(asked, figure)]
    reasons += [words for figure in figures for words in _machine(asked, figure)]
    reasons += [words for pair in pairs for words in _method(asked, pair)]
    reasons += [f"of theirs: {note}" for figure in figures for note in figure.notes]
    reasons += [_sample(figure) for figure in figures]
    reasons += [words for figure in figures for words in _age(figure, year)]
    return tuple(dict.fromkeys(reasons))


def _ours_doubted(steps: Set[str], warnings: Iterable[Warning]) -> Iterator[str]:
    codes = dict.fromkeys(warning.code for warning in warnings if warning.step in steps)
    if codes:
        yield f"ours is doubted ({', '.join(codes)}): diskbench results show says why"


def _disk(asked: RunSubject, figure: Published) -> Iterator[str]:
    if asked.disk_type is None:
        yield f"theirs is {figure.disk}; which disk ours is, is not known"
        return
    if asked.disk_type != figure.disk_type:
        yield f"theirs is {figure.disk}, ours {asked.disk_type}"
    if figure.size_gib is None:
        yield "the size of theirs is not known"
    elif asked.size_gib is not None and asked.size_gib != figure.size_gib:
        yield f"theirs has {figure.size_gib:g} GiB, ours {asked.size_gib:g}"
    if figure.provisioned_iops and asked.iops and asked.iops != figure.provisioned_iops:
        yield f"theirs has {figure.provisioned_iops:g} IOPS provisioned, ours {asked.iops:g}"
    if figure.cache is not None and asked.cache is not None and figure.cache != asked.cache:
        yield f"theirs had host caching {figure.cache}, ours {asked.cache}"


def _machine(asked: RunSubject, figure: Published) -> Iterator[str]:
    if figure.instance_type is None:
        yield f"theirs was measured on {figure.machine}"
    elif asked.instance_type != figure.instance_type:
        ours = asked.instance_type or "one of no known type"
        yield f"theirs was measured on {figure.instance_type}, ours on {ours}: their limits differ"
    if figure.region is not None and asked.region is not None and figure.region != asked.region:
        yield f"theirs was measured in {figure.region}, ours in {asked.region}"
    if figure.profile in _BY_MEMORY and _apart(figure.memory_gib, asked.memory_gib, _MEMORY_FACTOR):
        yield (
            f"theirs had {figure.memory_gib:g} GiB memory, ours {asked.memory_gib:.3g}: "
            "the file is twice that"
        )


def _method(asked: RunSubject, ours: Beside) -> Iterator[str]:
    figure = ours.figure
    if figure.tool != "fio" and asked.profile == figure.profile and not asked.by_tool:
        page = "docs/evidence/fidelity.md"
        yield f"theirs was {figure.tool} itself, ours is fio doing the same ({page})"
    for name, value in figure.parameters.items():
        used = asked.parameters.get(name)
        if used is not None and used != value:
            yield f"theirs is with {name}={value:g}, ours with {name}={used}"
    if figure.page_cache in _CACHES:
        yield _CACHES[figure.page_cache]
    if _apart(figure.runtime_s, ours.runtime_s, _RUNTIME_FACTOR):
        yield (
            f"theirs lasted {figure.runtime_s:g} s, ours {ours.runtime_s:.3g} s: "
            "burst credit and caches favour the shorter"
        )


def _age(figure: Published, year: int | None) -> Iterator[str]:
    date = figure.post.date
    if date is None:
        yield "theirs has no date"
    elif year is not None and year > int(date[:4]):
        yield f"theirs is of {date[:4]}, ours of {year}: clouds change their disks"


def _sample(figure: Published) -> str:
    if figure.approximate:
        return "some of theirs are rounded in the post"
    if figure.n:
        return f"theirs is the mean of {figure.n} runs on one machine: its variation is not known"
    return "theirs is one test on one machine: its variation is not known"


def _apart(first: float | None, second: float | None, factor: float) -> bool:
    """Whether both are known and more than `factor` apart."""
    return bool(first and second) and max(first or 0, second or 0) > factor * min(
        first or 0, second or 0
    )


_IMPORTED = {"seqwrite": "seq-write-64k", "seqread": "seq-read-64k", "iops": "rand-512-9to1"}
"""Steps of an imported GoBonnieGo file → those of the profile that repeats it."""


@dataclass(frozen=True)
class Beside:
    """One figure with ours, over so many runs; `by_run` are the values of single runs by their ids.
    `runtime_s` is how long the step took on average; None where no row says so."""

    figure: Published
    ours: float
    runs: int
    runtime_s: float | None
    by_run: Mapping[str, float]

    @property
    def ratio(self) -> float:
        return self.ours / self.figure.value


def beside(
    figures: Iterable[Published], measured: Sequence[Measurement], *, gobonniego_file: bool = False
) -> tuple[Beside, ...]:
    """Each figure that the rows have a value for. `gobonniego_file`: the rows were imported from
    a file of GoBonnieGo's own, whose steps have other names."""
    names = _IMPORTED if gobonniego_file else {}
    rows = [row for row in measured if row.scope == "step"]
    results = []
    for figure in figures:
        of_step = [row for row in rows if names.get(row.step, row.step) == figure.step]
        result = _beside(figure, _of_direction(of_step, figure.direction))
        if result is not None:
            results.append(result)
    return tuple(results)


def _of_direction(rows: Iterable[Measurement], direction: str) -> list[Measurement]:
    if direction == "total":
        return [row for row in rows if row.direction in ("read", "write", "mixed") and row.did_io]
    return [row for row in rows if row.direction == direction and row.did_io]


def _beside(figure: Published, rows: Sequence[Measurement]) -> Beside | None:
    of_run: dict[str, list[Measurement]] = {}
    for row in rows:
        of_run.setdefault(row.run_id, []).append(row)
    values = {run_id: _value(figure.metric, [of]) for run_id, of in of_run.items()}
    by_run = {run_id: value for run_id, value in values.items() if value is not None}
    runs = [of_run[run_id] for run_id in by_run]
    ours = _value(figure.metric, runs)
    if ours is None:
        return None
    times = [max(row.runtime_ns or 0 for row in run) for run in runs]
    return Beside(figure, ours, len(runs), fmean(times) / 1e9 or None, by_run)


def _value(metric: Metric, runs: Sequence[Sequence[Measurement]]) -> float | None:
    rows = [row for run in runs for row in run]
    match metric:
        case "iops":
            return _mean([row.iops for row in run] for run in runs)
        case "bytes_per_s":
            return _mean([row.bytes_per_s for row in run] for run in runs)
        case "lat_mean_ns":
            pairs = [
                (row.lat_mean_ns, row.ios)
                for row in rows
                if row.lat_mean_ns is not None and row.ios is not None
            ]
            ios = sum(count for _, count in pairs)
            return sum(mean * count for mean, count in pairs) / ios if ios else None
        case "lat_min_ns":
            least = [row.lat_min_ns for row in rows if row.lat_min_ns is not None]
            return float(min(least)) if least else None
        case "lat_max_ns":
            longest = [row.lat_max_ns for row in rows if row.lat_max_ns is not None]
            return float(max(longest)) if longest else None


def _mean(runs: Iterable[Sequence[float | None]]) -> float | None:
    """The mean over runs of the sum of their rates; a run with an unknown rate is left out."""
    sums = [sum(rate or 0.0 for rate in rates) for rates in runs if None not in rates]
    return fmean(sums) if sums else None
