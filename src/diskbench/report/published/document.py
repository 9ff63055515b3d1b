"""Runs beside published figures: the document that `diskbench compare --published` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from sqlalchemy.engine import Engine

from diskbench.catalog import published
from diskbench.catalog.post_file import Published
from diskbench.catalog.published import NearFigure, RunSubject
from diskbench.errors import InvalidValue
from diskbench.model.base import Frozen
from diskbench.model.ids import LAST
from diskbench.model.run import Run
from diskbench.plan.published import asked_of
from diskbench.report.assemble.subject import marks_of
from diskbench.report.published.differences import FigureBeside, differences, figure_beside
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.selection import Selection, chosen
from diskbench.results.trial import Trial, read_trials
from diskbench.store.query import find_runs
from diskbench.store.where import Filter


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
    matched = published.match(asked, figures)
    taken, why_not, nearest = matched.figures, matched.why_not, matched.nearest
    if named:
        parted = [(figure, published.part(asked, figure)) for figure in figures]
        taken = tuple(f for f, at in parted if at is None or at.criterion != "workload")
        why_not = f"none that is named was measured as profile {asked.profile} does"
    pairs = tuple(pair for one in taken if (pair := figure_beside(one, trial)) is not None)
    if taken and not pairs:
        why_not, nearest = "the runs finished no step of that workload", ()
    disk = f"{asked.disk_type} of {asked.cloud}" if asked.disk_type else "a disk of no known type"
    words = [f"{asked.profile} on {disk}"]
    words += [f"{asked.size_gib:.4g} GiB"] if asked.size_gib else []
    words += [f"host caching {asked.cache}"] if asked.cache else []
    words += [asked.instance_type] if asked.instance_type else []
    run_ids = tuple(run.run_id for run in trial.runs)
    beside = RunsBeside(
        trial_id=trial.trial_id, run_ids=run_ids, subject=", ".join(words), marks=marks
    )
    if not pairs:
        return beside.model_copy(update={"why_not": why_not, "nearest": nearest})
    warnings = [doubt for of in trial.steps.values() for step in of for doubt in step.warnings]
    when = first.started_at or first.measured_at
    year = int(when[:4]) if when else None
    told = differences(asked, pairs, marks=marks, warnings=warnings, year=year)
    return beside.model_copy(update={"figures": pairs, "differences": told})


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
    trials: dict[str, list[Run]] = {}
    for run in find_runs(engine, chosen(engine, asked)):
        of_trial = trials.setdefault(run.trial_id, [])
        if alone:
            of_trial.append(run)
        elif not of_trial:
            of_trial += find_runs(engine, [Filter("trial_id", "=", run.trial_id)])
    if not trials:
        raise InvalidValue(f"{asked.words!r} names no run", advice="see 'diskbench results list'")
    return [tuple(sorted(of, key=lambda run: int(run.run_index))) for of in trials.values()]
