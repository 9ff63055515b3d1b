"""One published figure beside what a trial of ours measured of the same workload, and why they may
differ, in plain words. Ours is the mean over the runs, as the posts give means; for a latency the
mean of all I/Os; the least and the longest for extremes. One figure without its spread beside
another proves nothing: no difference is tested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from diskbench.analysis.drift import fall_of
from diskbench.catalog.post_file import Metric, Published
from diskbench.catalog.published import RunSubject
from diskbench.model.base import Frozen
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.parallel import grouped
from diskbench.plan.published import GOBONNIEGO_FILE
from diskbench.results.trial import Trial

RATES = frozenset({"iops", "bytes_per_s"})
_IMPORTED = {"seqwrite": "seq-write-64k", "seqread": "seq-read-64k", "iops": "rand-512-9to1"}
"""Steps of an imported GoBonnieGo file → those of the profile that repeats it."""


class FigureBeside(Frozen):
    """A published figure and ours, in the unit of its metric, over so many runs; `ratio` is ours
    divided by theirs. `by_run` are the values of all runs by their ids, also of those before a
    fall. `runtime_s` is how long the step took on average; None where no row says so."""

    figure: Published
    ours: float
    runs: int
    ratio: float
    runtime_s: SkipJsonSchema[float | None] = Field(exclude=True)
    by_run: SkipJsonSchema[Mapping[str, float]] = Field(exclude=True)


def figure_beside(figure: Published, trial: Trial) -> FigureBeside | None:
    """A figure beside a trial's runs at their lasting level; None where no row has the figure. No
    figure spans a cliff (MR-3): if the disk fell between two runs and stayed low
    (analysis/drift.py), only the runs after the fall count."""
    names = _IMPORTED if trial.runs[0].provider == GOBONNIEGO_FILE else {}
    whole = figure.direction == "total"
    directions = {"read", "write", "mixed"} if whole else {figure.direction}
    rows = (
        row
        for row in trial.measurements
        if row.scope == "step" and names.get(row.step, row.step) == figure.step
        if row.did_io and row.direction in directions
    )
    of_run = grouped(rows, lambda row: row.run_id)
    values = {run_id: _value(figure.metric, [of]) for run_id, of in of_run.items()}
    by_run = {run_id: value for run_id, value in values.items() if value is not None}
    fall = fall_of(tuple(by_run.values())) if figure.metric in RATES else None
    runs = [of_run[run_id] for run_id in list(by_run)[fall.at if fall else 0 :]]
    ours = _value(figure.metric, runs)
    if ours is None:
        return None
    times = [max(row.runtime_ns or 0 for row in run) for run in runs]
    return FigureBeside(
        figure=figure,
        ours=ours,
        runs=len(runs),
        ratio=ours / figure.value,
        runtime_s=fmean(times) / 1e9 or None,
        by_run=by_run,
    )


def _value(metric: Metric, runs: Sequence[Sequence[Measurement]]) -> float | None:
    """The mean over runs of the sum of their rates (a run with an unknown rate is left out), or the
    latency of all."""
    of_runs = [[getattr(row, metric) for row in run] for run in runs]
    if metric in RATES:
        sums = [sum(rates) for rates in of_runs if None not in rates]
        return fmean(sums) if sums else None
    known = [
        (value, row.ios)
        for run, values in zip(runs, of_runs, strict=True)
        for row, value in zip(run, values, strict=True)
        if value is not None and (metric != "lat_mean_ns" or row.ios is not None)
    ]
    if metric == "lat_mean_ns":
        ios = sum(count or 0 for _, count in known)
        return sum(mean * (count or 0) for mean, count in known) / ios if ios else None
    extreme = {"lat_min_ns": min, "lat_max_ns": max}[metric]
    return float(extreme(value for value, _ in known)) if known else None


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
    pairs: Sequence[FigureBeside],
    *,
    marks: Iterable[str] = (),
    warnings: Iterable[Warning] = (),
    year: int | None = None,
) -> tuple[str, ...]:
    """Reasons, the strongest first, each once. `marks` are ours (emulated, unverified, imported),
    `warnings` what to doubt in our steps, `year` is that of our run."""
    reasons = [_MARKS[mark] for mark in _MARKS if mark in set(marks)]
    figures = [pair.figure for pair in pairs]
    steps = {figure.step for figure in figures}
    codes = ", ".join(dict.fromkeys(doubt.code for doubt in warnings if doubt.step in steps))
    reasons += [f"ours is doubted ({codes}): diskbench results show says why"] if codes else []
    reasons += [f"theirs is doubted ({d.code}): {d.words}" for f in figures if (d := f.doubt)]
    reasons += [words for figure in figures for words in _disk(asked, figure)]
    reasons += [words for figure in figures for words in _machine(asked, figure)]
    reasons += [words for pair in pairs for words in _method(asked, pair)]
    reasons += [f"of theirs: {note}" for figure in figures for note in figure.notes]
    reasons += [_sample(figure) for figure in figures]
    reasons += [words for figure in figures for words in _age(figure, year)]
    return tuple(dict.fromkeys(reasons))


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
        memory = f"theirs had {figure.memory_gib:g} GiB memory, ours {asked.memory_gib:.3g}"
        yield f"{memory}: the file is twice that"


def _method(asked: RunSubject, ours: FigureBeside) -> Iterator[str]:
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
        times = f"theirs lasted {figure.runtime_s:g} s, ours {ours.runtime_s:.3g} s"
        yield f"{times}: burst credit and caches favour the shorter"


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
    low, high = sorted((first or 0, second or 0))
    return low > 0 and high > factor * low
