"""The phases of steps whose figures are to be pooled: a mean must not span a cliff (MR-3).

Only steps of a minute or more have phases (on a lab disk whose credit is scaled, shorter ones do,
too): this is known from their rows, and only their evidence is read; quick runs, which most
histories consist of, are skipped.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlalchemy.engine import Engine

from diskbench.analysis.changes import SHORTEST_STEP_S
from diskbench.errors import DiskbenchError, StoreUnavailable, UnknownName
from diskbench.model.phase import StepPhases
from diskbench.model.run import MeasuredFigure, Run
from diskbench.model.spec import Plan
from diskbench.parallel import all_of
from diskbench.ports import EvidenceStore
from diskbench.store.evidence import open_evidence
from diskbench.store.evidence_place import check_readable
from diskbench.store.phases import run_phases
from diskbench.store.rows import find_plans
from diskbench.units import NS_PER_S

Courses = Mapping[tuple[str, str], "StepPhases"]
"""Phases by run id and name of the step."""


log = logging.getLogger(__name__)

_TRIALS_AT_ONCE = 100
"""The plans of as many trials are read in one statement and kept at a time; our choice."""


def courses_of(
    database: Engine, rows: Sequence[StepRow], evidence: EvidenceStore | None = None
) -> Courses:
    """The phases of the steps to which `rows` belong, where they have any.

    Read from `evidence`, or from where each run was kept. A run whose evidence is gone or damaged
    has none, which is logged.
    """
    trials: dict[str, dict[str, Run]] = {}
    for row in long_steps(rows):
        trials.setdefault(row.run.trial_id, {})[row.run.run_id] = row.run
    stores, names = EvidenceStores(evidence), list(trials)
    courses: dict[tuple[str, str], StepPhases] = {}
    for start in range(0, len(names), _TRIALS_AT_ONCE):
        some = names[start : start + _TRIALS_AT_ONCE]
        runs = [run for trial_id in some for run in trials[trial_id].values()]
        courses |= _courses_of_runs(database, runs, stores)
    return courses


def _courses_of_runs(database: Engine, runs: Sequence[Run], stores: EvidenceStores) -> Courses:
    """The phases of runs; the plans of all their trials are read in one statement."""
    planned = dict.fromkeys(run.trial_id for run in runs if not run.imported)
    plans = find_plans(database, list(planned))
    courses_by_run = all_of(lambda run: _phases(run, plans, stores), runs)
    return {(course.run_id, course.step): course for of_run in courses_by_run for course in of_run}


def read_phases(
    store: EvidenceStore, run_id: str, plan: Plan | None, *, run: int
) -> tuple[StepPhases, ...]:
    """The phases of the measured steps of a run, in order. `plan` is that of its trial (None for an
    imported run), `run` its number in the trial, from 1. A run whose evidence is gone or damaged
    has none; damage is logged."""
    try:
        return run_phases(store, run_id, plan, run=run)
    except UnknownName:  # nothing finished, or imported without the seconds
        return ()
    except DiskbenchError as error:
        log.warning("no phases of run %s: %s", run_id, error.message)
        return ()


class EvidenceStores:
    """Evidence stores by their URL, each opened once; or the store `only` for every URL."""

    def __init__(self, only: EvidenceStore | None = None) -> None:
        self._only = only
        self._open: dict[str, EvidenceStore] = {}

    def at(self, url: str | None) -> EvidenceStore:
        """The store of a run that was kept at `url`. Raises StoreUnavailable."""
        if self._only is not None:
            return self._only
        if not url:
            raise StoreUnavailable("where its evidence is was not recorded")
        if url not in self._open:
            check_readable(url)
            self._open[url] = open_evidence(url)
        return self._open[url]


def _phases(run: Run, plans: Mapping[str, Plan], stores: EvidenceStores) -> Sequence[StepPhases]:
    try:
        store = stores.at(run.evidence_url)
    except DiskbenchError as error:
        log.warning("no phases of run %s: %s", run.run_id, error.message)
        return ()
    return read_phases(store, run.run_id, plans.get(run.trial_id), run=run.number)


_LEAST_S = 10.0
_ALMOST = 0.98
"""fio's own run time may be up to 2 % below that of its process, by which phases are cut."""


class StepRow(Protocol):
    """A row from which the run time of its step is known: of figures or of measurements."""

    @property
    def run(self) -> Run:
        """The run to which the row belongs."""

    @property
    def step(self) -> str:
        """The name of the step."""

    @property
    def step_index(self) -> int:
        """Its place in the plan."""

    @property
    def round(self) -> int | None:
        """The number of the round; None for a step that is not repeated."""

    @property
    def runtime_ns(self) -> int | None:
        """How long fio ran; None where a tool of others does not say."""


def long_steps(rows: Sequence[StepRow]) -> list[StepRow]:
    """One row of each step whose rounds together lasted long enough to have phases."""
    steps: dict[tuple[str, str], list[StepRow]] = {}
    for row in rows:
        steps.setdefault((row.run.run_id, row.step), []).append(row)
    long_rows = []
    for group in steps.values():
        rounds = {(row.step_index, row.round): row.runtime_ns or 0 for row in group}
        shortest_s = max(_LEAST_S, SHORTEST_STEP_S / _time_scale(group[0]))
        if math.fsum(rounds.values()) / NS_PER_S >= _ALMOST * shortest_s:
            long_rows.append(group[0])
    return long_rows


def _time_scale(row: StepRow) -> float:
    if not isinstance(row, MeasuredFigure):  # such a row says who made the machine, not how
        return SHORTEST_STEP_S / _LEAST_S if row.run.provider == "lab" else 1.0
    lab = (row.rent or {}).get("lab") or {}
    return max(1.0, float(lab.get("time_scale") or 1.0))
