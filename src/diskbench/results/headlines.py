"""The figure and the trust that stand for runs in a list: kept when a trial is judged, read from
the database when a list is printed."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.analysis.headline_step import headline_step, of_trial
from diskbench.errors import StoreUnavailable
from diskbench.model.headline import Headline, ListedStep, ListedTrial
from diskbench.model.states import FINAL_STATES
from diskbench.store.headlines import keep_headlines, recent_trials, step_loads

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.result import StepResult
    from diskbench.model.run import Run
    from diskbench.model.verdict import Verdict
    from diskbench.store.reader import Reader
    from diskbench.store.where import Filter


def keep_judged(
    database: Engine, results: Mapping[str, Sequence[StepResult]], verdicts: Iterable[Verdict]
) -> None:
    """Keep the headlines of the runs that `verdicts` judge; `results` are their steps. A database
    that cannot be written to is left as it is: a headline is only a copy."""
    of_runs: dict[str, dict[str, Verdict]] = {}
    for verdict in verdicts:
        of_runs.setdefault(verdict.run_id, {})[verdict.step] = verdict
    headlines = {}
    for run_id, by_step in of_runs.items():
        chosen = headline_step(
            [_load(judged, results.get(run_id, ())) for judged in by_step.values()]
        )
        if chosen is not None:
            verdict = by_step[chosen.step]
            headlines[run_id] = Headline(
                chosen.step,
                chosen.iops,
                chosen.bytes_per_s,
                verdict.stands_for.kind,
                verdict.trust,
            )
    with contextlib.suppress(StoreUnavailable):
        keep_headlines(database, headlines)


def listed(
    database: Engine | Reader,
    filters: Sequence[Filter],
    *,
    limit: int | None,
    at_work: Callable[[], Collection[str]],
) -> tuple[list[ListedTrial], int]:
    """The lines of `results list`, newest first, and the number of trials that there are.

    `at_work` returns the trials that a live process works on; it is called only where a run has not
    ended. A run that nothing judged yet has the figure of its rows and no trust.
    """
    trials, total = recent_trials(database, filters, limit=limit)
    bare = [newest.run_id for newest, states, known in trials if states["done"] and not known]
    loads = step_loads(database, bare) if bare else {}
    unfinished = any(states.keys() - FINAL_STATES for _, states, _ in trials)
    live = at_work() if unfinished else ()
    lines = []
    for newest, states, known in trials:
        headline = of_trial(known)
        if headline is not None and len(known) < states["done"]:
            headline = replace(headline, trust=None)
        if headline is None and (load := headline_step(loads.get(newest.run_id, ()))) is not None:
            headline = Headline(load.step, load.iops, load.bytes_per_s)
        gone = bool(states.keys() - FINAL_STATES) and newest.trial_id not in live
        lines.append(ListedTrial(newest, states, headline, suspended=gone))
    return lines, total


def with_suspended(runs: Sequence[Run], at_work: Callable[[], Collection[str]]) -> list[Run]:
    """The runs as they are now: one that has not ended is `suspended` where its trial is not among
    those that `at_work` returns, which is called only where a run has not ended."""
    if all(run.state in FINAL_STATES for run in runs):
        return list(runs)
    live = at_work()
    return [
        run
        if run.state in FINAL_STATES or run.trial_id in live
        else replace(run, state="suspended")
        for run in runs
    ]


def _load(verdict: Verdict, results: Sequence[StepResult]) -> ListedStep:
    """The load of a judged step, from the rows of its rounds, with the figure of its verdict."""
    rows = [
        row
        for result in results
        if result.step == verdict.step
        for row in result.measurements
        if row.scope == "step"
    ]
    stands = verdict.stands_for
    first = rows[0] if rows else None
    return ListedStep(
        step=verdict.step,
        is_random=first is not None and (first.rw or "").startswith("rand"),
        block_bytes=first.block_bytes if first is not None else None,
        iops=stands.iops,
        bytes_per_s=stands.bytes_per_s,
    )
