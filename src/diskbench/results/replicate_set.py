"""Statistics over the trials of a matrix, or of any other selection (MR-5 to MR-7), and the width
of the intervals of a matrix that adds replicates until they are narrow enough (MR-7): the step that
needs most further replicates decides. Replicates are trials that may be pooled (MR-14); where not
all may, the largest group that may counts."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.analysis.repeats import by_machine, more_needed, replicated, width
from diskbench.errors import DiskbenchError
from diskbench.model.campaign import OddMachine, ReplicateLine, Replicates, UntilStatus
from diskbench.model.comparison import Metric
from diskbench.model.run import MeasuredRow
from diskbench.model.verdict import StepVerdict
from diskbench.parallel import grouped
from diskbench.ports import EvidenceStore
from diskbench.results.pool import alike, apart, off_trials
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.step_verdicts import step_verdicts
from diskbench.results.trial_figures import FigureLine, LineFigure, figures_by_metric, words
from diskbench.store.campaigns import CampaignRow, done_trials, load_cells
from diskbench.store.query import find_runs
from diskbench.store.where import Filter, any_of

log = logging.getLogger(__name__)

MOST_JUDGED = 100
"""Verdicts are read only for at most this number of trials, at about 0.1 s each; our choice."""
LARGE_BYTES = 64 * 1024
"""Steps with blocks of at least this size are shown in bytes a second; our choice."""
Judge = Callable[[str, Sequence[LineFigure]], StepVerdict | None]
"""The verdict on a step of pooled trials, returned once only, because a step has one verdict
whatever the number of its directions. None afterwards, and where evidence cannot be read."""
_JUDGED_ROLE = "measure"
"""Steps at an offered load are not judged, because their rate is set and not measured."""


def replicates_of(
    database: Engine,
    filters: Sequence[Filter],
    *,
    asked: str = "",
    pool: Collection[str] = (),
    evidence: EvidenceStore | None = None,
    canaries: bool = True,
) -> Replicates:
    """Median, interval, variation and outliers of each step, over all trials that are replicates of
    each other. Trials of a block whose facts differ get separate lines unless the fact is in
    `pool`. Without `canaries` no trial is flagged, and the evidence of none is read for its canary.
    """
    figures = main_figures(database, filters, evidence)
    runs_of = {figure.trial_id: figure.runs for _, figure in figures} if canaries else {}
    flagged = off_trials(runs_of, evidence)
    groups = grouped(figures, lambda pair: (pair[1].subject, pair[1].line, pair[0]))
    lines: list[ReplicateLine] = []
    left_out: list[str] = []
    trials = {figure.trial_id for _, figure in figures}
    judge = _judge(database, evidence) if len(trials) <= MOST_JUDGED else None
    in_order = sorted(groups, key=lambda key: (key[0], groups[key][0][1].order, key[1].direction))
    for subject, line, metric in in_order:
        of_line = [figure for _, figure in groups[subject, line, metric]]
        lines += _lines(words(subject) or "all", line, metric, of_line, pool, flagged, judge)
        if spanning := sum(figure.spans_cliff for figure in of_line):
            ended = f"{spanning} of {len(of_line)} trials ended between two levels"
            left_out.append(f"{line.step} {line.direction}: {ended}")
    return Replicates(
        asked=asked,
        trials=len(trials),
        marks=tuple(dict.fromkeys(mark for _, figure in figures for mark in figure.marks)),
        lines=tuple(lines),
        flagged=tuple(
            OddMachine(trial_id=name, why=tuple(reason.words() for reason in why))
            for name, why in sorted(flagged.items())
        ),
        left_out=tuple(left_out),
    )


def main_figures(
    database: Engine, filters: Sequence[Filter], evidence: EvidenceStore | None = None
) -> list[tuple[Metric, LineFigure]]:
    """The main figure of each step and direction of each trial: IOPS; for large blocks bytes a
    second."""

    def is_main(metric: Metric, row: MeasuredRow) -> bool:
        return ((row.block_bytes or 0) >= LARGE_BYTES) == (metric == "bytes_per_s")

    metrics: tuple[Metric, ...] = ("iops", "bytes_per_s")
    figures = figures_by_metric(database, filters, metrics, evidence, of_row=is_main)
    return [(metric, figure) for metric, of_metric in figures.items() for figure in of_metric]


def _lines(
    block: str,
    line: FigureLine,
    metric: Metric,
    figures: Sequence[LineFigure],
    pool: Collection[str],
    flagged: Collection[str],
    judge: Judge | None,
) -> Iterator[ReplicateLine]:
    names = {fact for fact, _ in apart([figure for figure in figures if not figure.spans_cliff])}
    names -= set(pool)
    for group in alike(figures, pool=pool):
        fallen = [figure for figure in group if figure.level is not None]
        unflagged = [figure.sample for figure in group if figure.trial_id not in flagged]
        is_part = 0 < len(unflagged) < len(group)
        yield ReplicateLine(
            block=block,
            step=line.step,
            direction=line.direction,
            metric=metric,
            replicated=replicated(figure.sample for figure in group),
            facts=tuple((name, value) for name, value in group[0].facts if name in names),
            level=fallen[0].level if fallen else None,
            after_cliff=len(fallen),
            apart=max(figure.apart for figure in group),
            without=replicated(unflagged) if is_part else None,
            verdict=judge(line.step, group) if judge else None,
        )


def _judge(database: Engine, evidence: EvidenceStore | None) -> Judge:
    stores, books = EvidenceOfRuns.of(evidence), open_books()

    @cache
    def left(trials: frozenset[str]) -> dict[str, StepVerdict]:
        done = Filter("state", "=", "done")
        named = any_of([[Filter("trial_id", "=", trial)] for trial in sorted(trials)])
        runs = find_runs(database, [*named, done])
        runs.sort(key=lambda run: (run.trial_id, run.run_index))
        try:
            store = stores.at(runs[0].evidence_url)
            verdicts = step_verdicts(database, store, runs, books=books)
        except DiskbenchError as error:
            log.warning("no verdict on these trials: %s", error.message)
            return {}
        return {verdict.step: verdict for verdict in verdicts}

    return lambda step, group: left(frozenset(of.trial_id for of in group)).pop(step, None)


@lru_cache(maxsize=16)
def statuses_of(
    database: sa.Engine, campaign_id: str, done: frozenset[tuple[str, str]], share: float
) -> Mapping[str, UntilStatus]:
    """The status of each block, from its finished replicates (`done_trials`); computed again only
    when another cell has ended."""
    if not done:
        return {}
    block_of = {trial_id: block for block, trial_id in done}
    figures = main_figures(database, [Filter("campaign_id", "=", campaign_id)])
    judged = (
        figure
        for _, figure in figures
        if figure.trial_id in block_of and figure.role == _JUDGED_ROLE
    )
    of_block = grouped(judged, lambda figure: block_of[figure.trial_id])
    worst = {}
    for block, n in Counter(block_of.values()).items():
        none = UntilStatus(block=block, wanted=share, n=n)
        lines = grouped(of_block.get(block, ()), lambda figure: figure.line)
        worst[block] = max(
            (_of_line(none, line, figures) for line, figures in lines.items()),
            key=lambda of: (of.more is None, of.more or 0, of.width or 0.0),
            default=none,
        )
    return worst


def _of_line(none: UntilStatus, line: FigureLine, figures: Sequence[LineFigure]) -> UntilStatus:
    step = f"{line.step} {line.direction}"
    groups = alike(figures)
    if not groups:
        return none.model_copy(update={"step": step})
    values = by_machine(figure.sample for figure in groups[0])
    more = more_needed(values, narrow=none.wanted)
    found = {"step": step, "width": width(values), "more": more, "reached": more == 0}
    return none.model_copy(update=found)


def until_statuses(database: sa.Engine, campaign: CampaignRow) -> tuple[UntilStatus, ...]:
    """The status of each block of a matrix; empty for a matrix without `until_ci`."""
    share = campaign.limits.until_ci
    if share is None:
        return ()
    done = done_trials(database, campaign.campaign_id)
    known = statuses_of(database, campaign.campaign_id, done, share)
    statuses = []
    blocks = grouped(load_cells(database, campaign.campaign_id), lambda cell: cell.block)
    for block, cells in blocks.items():
        now = known.get(block) or UntilStatus(block=block, wanted=share, n=0)
        spared = next((cell.error for cell in cells if cell.state == "spared"), None)
        all_done = "" if now.reached else f"all {len(cells)} replicates were measured"
        unfinished = any(cell.finished_at is None for cell in cells)
        ended = "" if unfinished else spared or all_done
        statuses.append(now.model_copy(update={"ended": ended}))
    return tuple(statuses)
