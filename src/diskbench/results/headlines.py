"""The figure and the trust that stand for runs in a list: kept when a trial is judged, read from
the database when a list is printed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.analysis.trust import headline_step, of_trial
from diskbench.model.result import FINAL_STATES
from diskbench.model.run import Headline, ListedTrial
from diskbench.store.headlines import recent_trials, step_loads

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import Run
    from diskbench.store.reader import Reader
    from diskbench.store.where import Filter


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
