"""The phases of a run's steps: read from its series when asked for, never stored with its rows;
also as a polars frame.

What was read is kept beside the series, because reading takes seconds: `derived/…phases-….json`,
named after what it depends on, to be deleted at will. Rounds of a repeated step are one series: a
cliff may lie between two of them. The last second of a round, seldom whole, is left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from diskbench.analysis.changes import SHORTEST_S, SHORTEST_STEP_S
from diskbench.analysis.phases import step_phases
from diskbench.analysis.segmentation import Floats
from diskbench.model.expectation import Expectation
from diskbench.model.phase import StepPhases
from diskbench.model.spec import Plan
from diskbench.parallel import grouped
from diskbench.ports import EvidenceStore
from diskbench.store.archive import read_plan
from diskbench.store.derived import derived_key, keep
from diskbench.store.manifest import StepRecord
from diskbench.store.run_row import bought_for, with_bought
from diskbench.store.stored_series import (
    SERIES_VERSION,
    SeriesColumns,
    closed_steps,
    series_columns,
)

if TYPE_CHECKING:
    import polars as pl


Closed = tuple[str, StepRecord]


PHASES_VERSION = 5
"""Raised when the same series gives other phases; older files are then left unused."""
_LEAST_S = 10


def run_phases(
    evidence: EvidenceStore, run_id: str, plan: Plan | None = None, *, run: int = 1
) -> tuple[StepPhases, ...]:
    """The phases of each measured step of a minute or more, in the order of the steps.

    `plan` is where the run came from (None: imported) and `run` its number in the trial, from 1:
    they contain what was expected, and how much faster than time the credit of a lab disk runs out.
    Raises UnknownName for a run without evidence, FioOutputUnreadable for damaged logs.
    """
    shortest_s, phases = _shortest_s(plan), []
    for group in _groups(closed_steps(evidence, run_id)):
        if plan is None or _seconds(group) >= SHORTEST_STEP_S * shortest_s / 60:
            step = group[0][1].step
            expected = plan.expected_of(step.index, of_round=step.round, run=run) if plan else None
            phases.append(_phases_of(evidence, run_id, group, expected, shortest_s))
    return tuple(phases)


def _shortest_s(plan: Plan | None) -> int:
    """The shortest phase: a minute, or on a lab disk whose credit is scaled what a minute is."""
    scale = plan.rental.spec.time_scale if plan and plan.rental else 1.0
    return max(_LEAST_S, math.ceil(SHORTEST_S / scale)) if scale > 1 else SHORTEST_S


def _groups(steps: Iterable[Closed]) -> list[list[Closed]]:
    """Measured steps in order, the rounds of one together."""
    measured = (closed for closed in steps if closed[1].step.role not in {"fill", "canary"})

    def place(closed: Closed) -> tuple[str, int | None]:
        step = closed[1].step
        return step.name, step.index if step.round is None else None

    return list(grouped(measured, place).values())


def _seconds(group: Sequence[Closed]) -> float:
    spans = (
        datetime.fromisoformat(record.finished_at) - datetime.fromisoformat(record.started_at)
        for _, record in group
    )
    return sum(span.total_seconds() for span in spans)


def _phases_of(
    evidence: EvidenceStore,
    run_id: str,
    group: Sequence[Closed],
    expected: Expectation | None,
    shortest_s: int,
) -> StepPhases:
    key = _key(run_id, group, expected, shortest_s)
    with contextlib.suppress(KeyError, ValueError):
        return StepPhases.model_validate_json(evidence.get(key))
    rounds = [
        _arrays(series_columns(evidence, run_id, folder, record), with_last=record is group[-1][1])
        for folder, record in group
    ]
    step = group[0][1].step
    ios, moved = (np.concatenate(column) for column in zip(*rounds, strict=True))
    own = {"run_id": run_id, "step_index": step.index, "step": step.name}
    own |= {"rounds": None if step.round is None else len(group)}
    found = step_phases(ios, moved, expected=expected, shortest_s=shortest_s)
    phases = found.model_copy(update=own)
    keep(evidence, key, phases.model_dump_json().encode())
    return phases


def _key(
    run_id: str, group: Sequence[Closed], expected: Expectation | None, shortest_s: int
) -> str:
    """Where the phases of a step are kept: it changes with all that they are read from."""
    expected_json = expected.model_dump_json() if expected else ""
    folders = [folder for folder, _ in group]
    text = f"{SERIES_VERSION} {folders} {shortest_s} {expected_json}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return derived_key(run_id, folders[-1], f"phases-{PHASES_VERSION}-{digest[:12]}.json")


def _arrays(series: SeriesColumns, *, with_last: bool) -> tuple[Floats, Floats]:
    """I/Os and bytes of each second, all directions summed, from the first second with a row."""
    rates = (series.iops, series.bytes_per_s)
    if all(np.isnan(rate).all() for rate in rates):  # a log of latencies has no rate, so no stall
        return np.zeros(0), np.zeros(0)
    seconds = series.second - series.second.min()
    size = int(seconds.max()) + 1
    columns = []
    for rate in rates:
        values = np.zeros(size)
        np.add.at(values, seconds, np.nan_to_num(rate))
        columns.append(values if with_last else values[:-1])
    return columns[0], columns[1]


def phases_frame(
    evidence: EvidenceStore, run_ids: Sequence[str], *, step: str | None = None
) -> pl.DataFrame:
    """One row a phase of each measured step of a minute or more, in order.

    Raises UnknownName for a run or step without evidence, FioOutputUnreadable for damaged logs.
    """
    import polars as pl

    rows = [
        row
        for run_id in run_ids
        for step_phases in _of_run(evidence, run_id, step)
        for row in _rows(step_phases)
    ]
    frame = pl.DataFrame(rows, schema=_schema(), orient="row")
    return with_bought(frame, {run_id: bought_for(evidence, run_id) for run_id in run_ids})


def _of_run(evidence: EvidenceStore, run_id: str, step: str | None) -> Iterable[StepPhases]:
    """The expectation in the run's own plan; imported runs have none."""
    if step is not None:
        next(closed_steps(evidence, run_id, step))
    try:
        plan = read_plan(evidence, run_id)
    except KeyError:
        phases = run_phases(evidence, run_id)
    else:
        phases = run_phases(evidence, run_id, plan, run=plan.run_ids.index(run_id) + 1)
    return (step_phases for step_phases in phases if step is None or step_phases.step == step)


def _rows(step_phases: StepPhases) -> Iterable[tuple[object, ...]]:
    for number, phase in enumerate(step_phases.phases):
        cliff = next((edge for edge in step_phases.cliffs if edge.at_s == phase.start_s), None)
        stalls = [
            min(stall.end_s, phase.end_s) - max(stall.start_s, phase.start_s)
            for stall in step_phases.stalls
            if stall.start_s < phase.end_s and stall.end_s > phase.start_s
        ]
        yield (
            step_phases.run_id, step_phases.step_index, step_phases.step, step_phases.rounds,
            number, phase.kind, phase.start_s, phase.end_s, phase.iops, phase.bytes_per_s,
            phase.from_iops, phase.to_iops, cliff is not None, cliff.credits if cliff else None,
            len(stalls), sum(stalls), step_phases.steady.state, step_phases.steady.kind,
        )  # fmt: skip


def _schema() -> dict[str, Any]:
    import polars as pl

    return {
        "run_id": pl.String, "step_index": pl.Int64, "step": pl.String, "rounds": pl.Int64,
        "phase": pl.Int64, "kind": pl.String, "start_s": pl.Float64, "end_s": pl.Float64,
        "iops": pl.Float64, "bytes_per_s": pl.Float64, "from_iops": pl.Float64,
        "to_iops": pl.Float64, "after_cliff": pl.Boolean, "credits": pl.Float64,
        "stalls": pl.Int64, "stalled_s": pl.Float64, "steady": pl.String, "steady_kind": pl.String,
    }  # fmt: skip
