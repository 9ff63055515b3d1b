"""Own trials that match a chart of published figures, and why others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.published import group, load_published, match
from diskbench.model.ids import short
from diskbench.model.verdict import trust_words
from diskbench.plan.published import asked_of
from diskbench.report.assemble.own_points import Trial, own_of
from diskbench.results.stored_trial import read_trial
from diskbench.store.rows import find_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.catalog.books import Books
    from diskbench.catalog.post_file import Published
    from diskbench.catalog.published import Match
    from diskbench.model.run import Mark, Run
    from diskbench.model.verdict import Verdict
    from diskbench.report.published.charts import PostChart
    from diskbench.report.published.draw import OwnTrials
    from diskbench.results.run_evidence import EvidenceOfRuns

MARKS: tuple[Mark, ...] = ("emulated", "imported", "unverified")


def own_trials(
    database: Engine,
    runs: Sequence[Run],
    chart: PostChart,
    evidence: EvidenceOfRuns,
    books: Books,
    include_emulated: bool,
) -> tuple[OwnTrials, tuple[str, ...]]:
    """The trials of these runs (database rows) as points and lines of a chart, and the reasons why
    others are left out. Without `include_emulated`, only measurements of a cloud's disk count."""
    by_trial: dict[str, list[Run]] = {}
    for run in runs:
        by_trial.setdefault(run.trial_id, []).append(run)
    figures = chart.of(load_published())
    taken: list[Trial] = []
    left_out: dict[str, None] = {}
    for of_trial in by_trial.values():
        trial = _trial(database, of_trial, figures, evidence, books, include_emulated)
        if isinstance(trial, str):
            left_out[trial] = None
        else:
            taken.append(trial)
    return own_of(taken), tuple(left_out)


def _trial(
    database: Engine,
    runs: Sequence[Run],
    figures: Sequence[Published],
    evidence: EvidenceOfRuns,
    books: Books,
    include_emulated: bool,
) -> Trial | str:
    """The trial with its matching figures, or the reason why it matches none."""
    first = runs[0]
    marks = tuple(mark for mark in MARKS if any(run.has(mark) for run in runs))
    if marks and not include_emulated:
        return (
            f"{short(first.run_id)} is {', '.join(marks)}: it is not a figure of a cloud's "
            "disk; --include-emulated draws it anyway"
        )
    asked = asked_of(first, find_plan(database, first.trial_id))
    matched = match(asked, figures)
    if not matched.figures:
        return _why_not(str(first.run_id), match(asked, load_published()))
    stored = read_trial(database, runs, evidence, books)
    return Trial(
        figures=matched.figures,
        runs=tuple(runs),
        plan=stored.plan,
        measurements={
            run.run_id: tuple(row for row in stored.measurements if row.run_id == run.run_id)
            for run in runs
        },
        phases=stored.phases,
        marks=marks,
        doubts=_doubts(stored.verdicts),
    )


def _doubts(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], str]:
    """Why steps of runs are not trusted, without the prefix `with care`."""
    return {
        (verdict.run_id, verdict.step): trust_words(verdict.trust, verdict.reasons).removeprefix(
            "with care: "
        )
        for verdict in verdicts
        if verdict.trust != "yes"
    }


def _why_not(run_id: str, matched: Match) -> str:
    """Why a trial matches nothing in a chart: its disk is on other charts, or on none."""
    if matched.figures:
        disks = ", ".join(dict.fromkeys(group(figure) for figure in matched.figures))
        return f"{short(run_id)} matches {disks}, which this chart does not show"
    near = "; ".join(f"{near.name}: {near.words}" for near in matched.nearest[:1])
    return f"{short(run_id)}: {matched.why_not}{f' ({near})' if near else ''}"
