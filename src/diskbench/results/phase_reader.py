"""The phases of steps whose figures are to be pooled: a mean must not span a cliff (MR-3).

Only steps of a minute or more have phases (on a lab disk whose credit is scaled, shorter ones do,
too): this is known from their rows, and only their evidence is read; quick runs, which most
histories consist of, are skipped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sqlalchemy.engine import Engine

from diskbench.analysis.changes import SHORTEST_STEP_S
from diskbench.model.phase import StepPhases
from diskbench.model.run import MeasuredFigure, MeasuredRow, Run
from diskbench.parallel import all_of, few_at_a_time
from diskbench.ports import EvidenceStore
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.store.rows import find_plans
from diskbench.units import NS_PER_S

Courses = Mapping[tuple[str, str], StepPhases]
"""Phases by run id and name of the step."""
StepRow = MeasuredRow | MeasuredFigure
"""A row from which the run time of its step is known."""


_RUNS_AT_ONCE = 500
"""The plans of their trials are read in one statement and kept at a time; our choice."""


def courses_of(
    database: Engine, rows: Sequence[StepRow], evidence: EvidenceStore | None = None
) -> Courses:
    """The phases of the steps to which `rows` belong, where they have any.

    Read from `evidence`, or from where each run was kept. A run whose evidence is gone or damaged
    has none, which is logged.
    """
    trials: dict[str, list[Run]] = {}
    for run in {row.run.run_id: row.run for row in long_steps(rows)}.values():
        trials.setdefault(run.trial_id, []).append(run)
    stores = EvidenceOfRuns.of(evidence)
    courses: dict[tuple[str, str], StepPhases] = {}
    for few in few_at_a_time(trials.items(), _RUNS_AT_ONCE):
        plans = find_plans(database, [name for name, runs in few.items() if not runs[0].imported])
        planned = [(run, plans.get(run.trial_id)) for runs in few.values() for run in runs]
        for phases in all_of(lambda pair: stores.phases(*pair), planned):
            courses |= {(course.run_id, course.step): course for course in phases}
    return courses


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
