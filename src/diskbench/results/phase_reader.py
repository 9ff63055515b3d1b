"""The phases of steps whose figures are to be pooled: a mean must not span a cliff (MR-3).

Only steps of a minute or more have phases (on a lab disk whose credit is scaled, shorter ones do,
too): this is known from their rows, and only their evidence is read; quick runs, which most
histories consist of, are skipped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain

from sqlalchemy.engine import Engine

from diskbench.analysis.changes import SHORTEST_STEP_S
from diskbench.errors import DiskbenchError
from diskbench.model.phase import StepPhases
from diskbench.model.run import MeasuredFigure, MeasuredRow, Run
from diskbench.model.spec import Plan
from diskbench.parallel import all_of
from diskbench.ports import EvidenceStore
from diskbench.results.run_evidence import EvidenceOfRuns, phases_of, warn
from diskbench.store.rows import find_plans
from diskbench.units import NS_PER_S

Courses = Mapping[tuple[str, str], "StepPhases"]
"""Phases by run id and name of the step."""
StepRow = MeasuredRow | MeasuredFigure
"""A row from which the run time of its step is known."""


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
    stores, names = EvidenceOfRuns.of(evidence), list(trials)
    courses: dict[tuple[str, str], StepPhases] = {}
    for start in range(0, len(names), _TRIALS_AT_ONCE):
        some = names[start : start + _TRIALS_AT_ONCE]
        runs = [run for trial_id in some for run in trials[trial_id].values()]
        planned = dict.fromkeys(run.trial_id for run in runs if not run.imported)
        read = partial(_phases, plans=find_plans(database, list(planned)), stores=stores)
        for course in chain.from_iterable(all_of(read, runs)):
            courses[course.run_id, course.step] = course
    return courses


def _phases(run: Run, plans: Mapping[str, Plan], stores: EvidenceOfRuns) -> Sequence[StepPhases]:
    try:
        store = stores.at(run.evidence_url)
    except DiskbenchError as error:
        warn("phases", run.run_id, error)
        return ()
    return phases_of(store, run.run_id, plans.get(run.trial_id), number=run.number)


_LEAST_S = 10.0
_ALMOST = 0.98
"""fio's own run time may be up to 2 % below that of its process, by which phases are cut."""


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
