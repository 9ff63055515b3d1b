"""`diskbench compare RUN… --published [ID]`: runs beside what others published."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from diskbench.cli.terminal import print_json
from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.catalog.published import Published
    from diskbench.model.run import Mark, Run
    from diskbench.report.published_document import ComparePublishedDocument, TrialBeside

_MARKS: tuple[Mark, ...] = ("emulated", "imported", "unverified")


def compare_published(
    engine: Engine,
    names: Sequence[str],
    *,
    alone: bool,
    include_emulated: bool,
    output: Literal["table", "json"],
) -> None:
    """Set runs (or all of their trials) beside published figures, and print that.

    Names with a slash, or of a post, are figures; others are runs. Raises UnknownName for either,
    InvalidValue where no run is left that says anything about a cloud's disk.
    """
    document = _document(engine, names, alone=alone, include_emulated=include_emulated)
    if document.left_out:
        _say(f"left out, being no cloud's own: {', '.join(document.left_out)}")
    if output == "json":
        print_json(document.model_dump_json())
        return
    from diskbench.report.published_beside_text import beside_lines

    for line in beside_lines(document):
        print(line)


def _document(
    engine: Engine, names: Sequence[str], *, alone: bool, include_emulated: bool
) -> ComparePublishedDocument:
    from diskbench.catalog.published import SEEDS, find_published
    from diskbench.report.published_document import ComparePublishedDocument

    ids = [name for name in names if "/" in name or name in SEEDS]
    figures = tuple({one.id: one for name in ids for one in find_published(name)}.values())
    trials = _trials(engine, [name for name in names if name not in ids] or ["last"], alone=alone)
    marked = [runs for runs in trials if _marks(runs)]
    taken = [runs for runs in trials if include_emulated or runs not in marked]
    if not taken:
        (first, *_) = marked
        words = ", ".join(_marks(first))
        raise InvalidValue(
            f"run {first[0].run_id} is {words}: it says nothing about a cloud's disk",
            advice="to see it beside published figures all the same, add --include-emulated",
        )
    return ComparePublishedDocument(
        trials=tuple(_beside(engine, runs, figures) for runs in taken),
        left_out=() if include_emulated else tuple(run.run_id for m in marked for run in m),
    )


def _trials(engine: Engine, names: Sequence[str], *, alone: bool) -> list[tuple[Run, ...]]:
    """The runs that are named, or with all others of their trials, each trial once."""
    from diskbench.engine.selection import runs_named
    from diskbench.store.query import Filter, find_runs

    found: dict[str, list[Run]] = {}
    named = runs_named(engine, names)
    runs = {run.run_id: run for run in find_runs(engine, run_ids=named)}
    for run in (runs[run_id] for run_id in named):
        of_trial = found.setdefault(run.trial_id, [])
        if alone:
            of_trial.append(run)
        elif not of_trial:
            of_trial += find_runs(engine, [Filter("trial_id", "=", run.trial_id)])
    return [tuple(sorted(of, key=lambda one: one.run_index)) for of in found.values()]


def _marks(runs: Sequence[Run]) -> tuple[str, ...]:
    return tuple(mark for mark in _MARKS if any(run.has(mark) for run in runs))


def _beside(engine: Engine, runs: Sequence[Run], named: Sequence[Published]) -> TrialBeside:
    from diskbench.analysis.row_figures import courses_by_step, levelled_rows
    from diskbench.catalog.published import load_published
    from diskbench.cli.results_show import phases_of_runs
    from diskbench.plan.published import GOBONNIEGO_FILE, asked_of
    from diskbench.report.published_document import trial_beside
    from diskbench.store.rows import find_plan, load_results

    first = runs[0]
    run_ids = [run.run_id for run in runs]
    results = load_results(engine, *run_ids)
    steps = [step for run_id in run_ids for step in results[run_id]]
    when = first.when
    plan = find_plan(engine, first.trial_id)
    courses = courses_by_step(phases_of_runs(runs, plan))
    return trial_beside(
        asked_of(first, plan),
        levelled_rows([row for step in steps for row in step.measurements], courses),
        named or load_published(),
        trial_id=first.trial_id,
        run_ids=run_ids,
        marks=_marks(runs),
        warnings=[warning for step in steps for warning in step.warnings],
        year=int(when[:4]) if when else None,
        named=bool(named),
        gobonniego_file=first.provider == GOBONNIEGO_FILE,
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)
