"""The phases of runs as a polars frame, read from the evidence alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from diskbench.model.phase import Phase, StepPhases
from diskbench.ports import EvidenceStore
from diskbench.store.archive import read_plan
from diskbench.store.bought import bought_for, with_bought
from diskbench.store.frames import closed_steps
from diskbench.store.phases import run_phases

if TYPE_CHECKING:
    import polars as pl


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
            step_phases.run_id,
            step_phases.step_index,
            step_phases.step,
            step_phases.rounds,
            number,
            phase.kind,
            *_figures(phase),
            cliff is not None,
            cliff.credits if cliff else None,
            len(stalls),
            sum(stalls),
            step_phases.steady.state,
            step_phases.steady.kind,
        )


def _figures(phase: Phase) -> tuple[float | None, ...]:
    return (
        phase.start_s, phase.end_s, phase.iops, phase.bytes_per_s, phase.from_iops, phase.to_iops,
    )  # fmt: skip


def _schema() -> dict[str, Any]:
    import polars as pl

    return {
        "run_id": pl.String,
        "step_index": pl.Int64,
        "step": pl.String,
        "rounds": pl.Int64,
        "phase": pl.Int64,
        "kind": pl.String,
        "start_s": pl.Float64,
        "end_s": pl.Float64,
        "iops": pl.Float64,
        "bytes_per_s": pl.Float64,
        "from_iops": pl.Float64,
        "to_iops": pl.Float64,
        "after_cliff": pl.Boolean,
        "credits": pl.Float64,
        "stalls": pl.Int64,
        "stalled_s": pl.Float64,
        "steady": pl.String,
        "steady_kind": pl.String,
    }
