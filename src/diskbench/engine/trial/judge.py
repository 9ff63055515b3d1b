"""The verdict on a trial that ended, kept for the lists where no command is there to print it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.store.query import find_runs
from diskbench.store.where import Filter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from diskbench.engine.session import Session
    from diskbench.model.result import StepResult

log = logging.getLogger(__name__)


def judge_trial(
    session: Session, trial_id: str, results: Mapping[str, Sequence[StepResult]] | None = None
) -> None:
    """Judge the runs of a trial, so that `results list` shows their figure and trust at once.
    `results` are their steps, where the caller has them.

    An error is logged and not raised: the trial is measured, and each later read judges it again.
    """
    from diskbench.results.verdicts import trial_verdicts

    try:
        runs = find_runs(session.database, [Filter("trial_id", "=", trial_id)])
        if runs:
            evidence = session.evidence_of(trial_id)
            trial_verdicts(session.database, evidence, runs, books=session.books, results=results)
    except Exception as error:  # noqa: BLE001 - whatever it is, the trial has ended well
        log.warning("no verdict yet: %s", error, extra={"trial": trial_id})
