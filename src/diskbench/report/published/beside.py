"""Published figures beside what a trial of ours measured of the same workload, and why they may
differ, in plain words. Ours is the mean over the runs, as the posts give means; for a latency the
mean of all I/Os; the least and the longest for extremes. One figure without its spread beside
another proves nothing: no difference is tested."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from sqlalchemy.engine import Engine

from diskbench.analysis.drift import fall_of
from diskbench.catalog import published
from diskbench.catalog.published import RATES, Metric, Published
from diskbench.errors import InvalidValue
from diskbench.model.base import Frozen
from diskbench.model.ids import LAST
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.model.run import GOBONNIEGO_FILE, Run
from diskbench.parallel import grouped
from diskbench.plan.published import NearFigure, RunSubject, asked_of, matching, nearest, part
from diskbench.report.assemble.subject import marks_of
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.selection import Selection, chosen
from diskbench.results.trial import Trial, read_trials
from diskbench.store.query import find_runs
from diskbench.store.where import Filter


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
    names = published.GOBONNIEGO_STEPS if trial.runs[0].provider == GOBONNIEGO_FILE else {}
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
    of_runs = [[(getattr(row, metric), row.ios) for row in run] for run in runs]
    if metric in RATES:
        rates = [[rate for rate, _ in of_run] for of_run in of_runs]
        sums = [sum(of_run) for of_run in rates if None not in of_run]
        return fmean(sums) if sums else None
    known = [pair for of_run in of_runs for pair in of_run if pair[0] is not None]
    if metric == "lat_mean_ns":
        counted = [(mean, ios) for mean, ios in known if ios is not None]
        ios = sum(count for _, count in counted)
        return sum(mean * count for mean, count in counted) / ios if ios else None
    extreme = {"lat_min_ns": min, "lat_max_ns": max}[metric]
    return float(extreme(value for value, _ in known)) if known else None


_MARKS = {
    "emulated": "ours is emulated: its disk is an imitation, not a cloud's",
    "unverified": "ours is unverified: nobody checked that machine and disk are what they claim",
    "imported": "ours was imported: another program measured it, on a disk that was not checked",
}
_RUNTIME_FACTOR = 2.0
"""Steps that lasted more than twice or less than half as long are mentioned. Our choice."""
_MEMORY_FACTOR = 1.25
"""The same of memory. Our choice."""
_CACHES = {
    "dropped": "both read through the page cache, dropped before: read-ahead counts",
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
    for date in (figure.post.date for figure in figures):
        if date is None:
            reasons.append("theirs has no date")
        elif year is not None and year > int(date[:4]):
            reasons.append(f"theirs is of {date[:4]}, ours of {year}: clouds change their disks")
    return tuple(dict.fromkeys(reasons))


def _disk(asked: RunSubject, figure: Published) -> Iterator[str]:
    if asked.disk_type is None:
        yield f"theirs is {figure.disk}; our disk type is unknown"
        return
    if asked.disk_type != figure.disk_type:
        yield f"theirs is {figure.disk}, ours {asked.disk_type}"
    if figure.size_gib is None:
        yield "the size of theirs is unknown"
    elif _unlike(figure.size_gib, asked.size_gib):
        yield f"theirs has {figure.size_gib:g} GiB, ours {asked.size_gib:g}"
    if figure.provisioned_iops and asked.iops and asked.iops != figure.provisioned_iops:
        yield f"theirs has {figure.provisioned_iops:g} IOPS provisioned, ours {asked.iops:g}"
    if _unlike(figure.cache, asked.cache):
        yield f"theirs had host caching {figure.cache}, ours {asked.cache}"


def _machine(asked: RunSubject, figure: Published) -> Iterator[str]:
    if figure.instance_type is None:
        yield f"theirs was measured on {figure.machine}"
    elif asked.instance_type != figure.instance_type:
        ours = asked.instance_type or "one of no known type"
        yield f"theirs was measured on {figure.instance_type}, ours on {ours}: their limits differ"
    if _unlike(figure.region, asked.region):
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
        if _unlike(value, used := asked.parameters.get(name)):
            yield f"theirs is with {name}={value:g}, ours with {name}={used}"
    if figure.page_cache in _CACHES:
        yield _CACHES[figure.page_cache]
    if _apart(figure.runtime_s, ours.runtime_s, _RUNTIME_FACTOR):
        times = f"theirs lasted {figure.runtime_s:g} s, ours {ours.runtime_s:.3g} s"
        yield f"{times}: burst credit and caches favour the shorter"


def _sample(figure: Published) -> str:
    if figure.approximate:
        return "some of theirs are rounded in the post"
    is_of = f"the mean of {figure.n} runs" if figure.n else "one test"
    return f"theirs is {is_of} on one machine: its variation is unknown"


def _unlike(theirs: object, ours: object) -> bool:
    """Whether both are known and differ."""
    return theirs is not None and ours is not None and theirs != ours


def _apart(first: float | None, second: float | None, factor: float) -> bool:
    """Whether both are known and more than `factor` apart."""
    low, high = sorted((first or 0, second or 0))
    return low > 0 and high > factor * low


class RunsBeside(Frozen):
    """One trial's runs beside the figures of the same disk and workload. `marks` qualify our
    figures: emulated, imported, unverified. `differences` say why figures may differ. If no figure
    matches, `why_not` says why and `nearest` lists similar disks."""

    trial_id: str
    run_ids: tuple[str, ...]
    subject: str
    marks: tuple[str, ...] = ()
    figures: tuple[FigureBeside, ...] = ()
    differences: tuple[str, ...] = ()
    why_not: str = ""
    nearest: tuple[NearFigure, ...] = ()


class ComparePublishedDocument(Frozen):
    """The output of `diskbench compare --published --output json`. `left_out` are runs that say
    nothing about a cloud's disk and were not selected explicitly."""

    format: Literal[1] = 1
    trials: tuple[RunsBeside, ...]
    left_out: tuple[str, ...] = ()


def trial_beside(
    asked: RunSubject, trial: Trial, figures: Sequence[Published], *, named: bool = False
) -> RunsBeside:
    """A trial beside the figures that match it; with `named`, beside every given figure of the same
    workload, whatever its disk."""
    first, marks = trial.runs[0], marks_of(trial.runs)
    if named:
        parted = ((figure, part(asked, figure)) for figure in figures)
        taken = tuple(figure for figure, at in parted if at is None or at[0] != "workload")
    else:
        taken = matching(asked, figures)
    pairs = tuple(pair for one in taken if (pair := figure_beside(one, trial)) is not None)
    disk = f"{asked.disk_type} of {asked.cloud}" if asked.disk_type else "a disk of no known type"
    size = f"{asked.size_gib:.4g} GiB" if asked.size_gib else ""
    cache = f"host caching {asked.cache}" if asked.cache else ""
    words = filter(None, (f"{asked.profile} on {disk}", size, cache, asked.instance_type))
    run_ids = tuple(run.run_id for run in trial.runs)
    beside = RunsBeside(
        trial_id=trial.trial_id, run_ids=run_ids, subject=", ".join(words), marks=marks
    )
    if pairs:
        warnings = [doubt for of in trial.steps.values() for step in of for doubt in step.warnings]
        when = first.started_at or first.measured_at
        year = int(when[:4]) if when else None
        told = differences(asked, pairs, marks=marks, warnings=warnings, year=year)
        return beside.model_copy(update={"figures": pairs, "differences": told})
    if taken:
        why_not = "the runs finished no step of that workload"
        return beside.model_copy(update={"why_not": why_not})
    why_not, near = nearest(asked, figures)
    if named:
        why_not = f"none that is named was measured as profile {asked.profile} does"
    return beside.model_copy(update={"why_not": why_not, "nearest": near})


def compared(
    engine: Engine,
    asked: Selection,
    evidence: EvidenceOfRuns,
    *,
    alone: bool,
    include_emulated: bool,
) -> ComparePublishedDocument:
    """Runs, or all of their trials, beside published figures. Names with a slash, or of a post,
    select figures; others select runs. Raises UnknownName for an unknown name, InvalidValue if no
    run remains that says anything about a cloud's disk."""
    ids = [name for name in asked.names if "/" in name or name in published.SEEDS]
    found = (figure for name in ids for figure in published.find_published(name))
    figures = tuple({figure.id: figure for figure in found}.values())
    runs_asked = replace(asked, names=[name for name in asked.names if name not in ids])
    trials = _trials(engine, runs_asked or Selection((LAST,)), alone=alone)
    marked = [runs for runs in trials if marks_of(runs)]
    taken = [runs for runs in trials if include_emulated or runs not in marked]
    if not taken:
        (first, *_) = marked
        words = ", ".join(marks_of(first))
        raise InvalidValue(
            f"run {first[0].run_id} is {words}: it is not a figure of a cloud's disk",
            advice="to compare it with published figures anyway, add --include-emulated",
        )
    read = read_trials(engine, {runs[0].trial_id: runs for runs in taken}, evidence, open_books())
    beside, named = figures or published.load_published(), bool(figures)
    return ComparePublishedDocument(
        trials=tuple(
            trial_beside(asked_of(trial.runs[0], trial.plan), trial, beside, named=named)
            for trial in read.values()
        ),
        left_out=() if include_emulated else tuple(run.run_id for m in marked for run in m),
    )


def _trials(engine: Engine, asked: Selection, *, alone: bool) -> list[tuple[Run, ...]]:
    """The runs that were asked for (`alone`), or all runs of their trials, each trial once."""
    runs = find_runs(engine, chosen(engine, asked))
    if not runs:
        raise InvalidValue(f"{asked.words!r} names no run", advice="see 'diskbench results list'")
    trials = grouped(runs, lambda run: run.trial_id)
    if not alone:
        trials = {name: find_runs(engine, [Filter("trial_id", "=", name)]) for name in trials}
    return [tuple(sorted(of, key=lambda run: run.run_index)) for of in trials.values()]
