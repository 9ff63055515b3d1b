"""Runs beside published figures of the same disk and workload, trial by trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.analysis.row_figures import cliff_safe_rows, courses_by_step
from diskbench.catalog.published import SEEDS, find_published, load_published
from diskbench.errors import InvalidValue
from diskbench.model.ids import LAST
from diskbench.plan.published import GOBONNIEGO_FILE, asked_of
from diskbench.report.assemble.own_trials import MARKS
from diskbench.report.published.document import ComparePublishedDocument, trial_beside
from diskbench.results.selection import Selection, chosen
from diskbench.store.query import find_runs
from diskbench.store.rows import find_plan
from diskbench.store.step_rows import load_results
from diskbench.store.where import Filter

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.catalog.post_file import Published
    from diskbench.model.run import Run
    from diskbench.report.published.document import TrialBeside
    from diskbench.results.run_evidence import EvidenceOfRuns


def compared(
    engine: Engine,
    asked: Selection,
    evidence: EvidenceOfRuns,
    *,
    alone: bool,
    include_emulated: bool,
) -> ComparePublishedDocument:
    """Runs, or all of their trials, beside published figures.

    Names with a slash, or of a post, select figures; others select runs. Raises UnknownName for an
    unknown name, InvalidValue if no run remains that says anything about a cloud's disk.
    """
    ids = [name for name in asked.names if "/" in name or name in SEEDS]
    figures = tuple({figure.id: figure for name in ids for figure in find_published(name)}.values())
    runs_asked = replace(asked, names=[name for name in asked.names if name not in ids])
    trials = _trials(engine, runs_asked or Selection((LAST,)), alone=alone)
    marked = [runs for runs in trials if _marks(runs)]
    taken = [runs for runs in trials if include_emulated or runs not in marked]
    if not taken:
        (first, *_) = marked
        words = ", ".join(_marks(first))
        raise InvalidValue(
            f"run {first[0].run_id} is {words}: it is not a figure of a cloud's disk",
            advice="to compare it with published figures anyway, add --include-emulated",
        )
    return ComparePublishedDocument(
        trials=tuple(_beside(engine, runs, figures, evidence) for runs in taken),
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


def _marks(runs: Sequence[Run]) -> tuple[str, ...]:
    return tuple(mark for mark in MARKS if any(run.has(mark) for run in runs))


def _beside(
    engine: Engine,
    runs: Sequence[Run],
    named: Sequence[Published],
    evidence: EvidenceOfRuns,
) -> TrialBeside:
    first = runs[0]
    run_ids = [str(run.run_id) for run in runs]
    results = load_results(engine, *run_ids)
    steps = [step for run_id in run_ids for step in results[run_id]]
    when = first.started_at or first.measured_at
    plan = find_plan(engine, first.trial_id)
    courses = courses_by_step([phase for run in runs for phase in evidence.phases(run, plan)])
    return trial_beside(
        asked_of(first, plan),
        cliff_safe_rows([row for step in steps for row in step.measurements], courses),
        named or load_published(),
        trial_id=first.trial_id,
        run_ids=run_ids,
        marks=_marks(runs),
        warnings=[warning for step in steps for warning in step.warnings],
        year=int(when[:4]) if when else None,
        named=bool(named),
        gobonniego_file=first.provider == GOBONNIEGO_FILE,
    )
