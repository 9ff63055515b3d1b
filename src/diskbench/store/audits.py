"""The audit of a run from its evidence: read when asked for, never stored with its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, UnknownName
from diskbench.fio.audit import audit_logs, audit_output
from diskbench.fio.declared import declared
from diskbench.model.audit import AuditCheck, StepAudit
from diskbench.store.frames import closed_steps, step_outputs, step_series, totals_of

if TYPE_CHECKING:
    from diskbench.fio.reported import FioOutput
    from diskbench.model.result import Direction
    from diskbench.model.spec import Step
    from diskbench.ports import EvidenceStore
    from diskbench.store.manifest import StepRecord


def run_audits(evidence: EvidenceStore, run_id: str) -> tuple[StepAudit, ...]:
    """The audit of each step that fio reported on, in order; none of a run without any.

    Raises UnknownName for a run without evidence, FioOutputUnreadable, EvidenceDamaged.
    """
    try:
        closed = {
            record.step.index: (folder, record) for folder, record in closed_steps(evidence, run_id)
        }
    except UnknownName:  # imported without logs, in several steps
        closed = {}
    return tuple(
        StepAudit(
            run_id=run_id,
            step_index=step.index,
            step=step.name,
            round=step.round,
            checks=audit_step(evidence, run_id, step, output, closed.get(step.index)),
        )
        for step, output in step_outputs(evidence, run_id, None)
    )


def audit_step(
    evidence: EvidenceStore,
    run_id: str,
    step: Step,
    output: FioOutput,
    closed: tuple[str, StepRecord] | None,
) -> tuple[AuditCheck, ...]:
    """The checks of one step; `closed` is its folder with its logs, None where it has none."""
    checks = audit_output(output, declared(step.job), end_known=bool(step.job))
    logs = AuditCheck(name="logs", holds=None, message="there are no logs")
    if closed is not None:
        try:
            logs = _logs(evidence, run_id, closed, output)
        except DiskbenchError as error:
            logs = AuditCheck(name="logs", holds=False, message=error.message)
    return (*checks, logs)


def _logs(
    evidence: EvidenceStore, run_id: str, closed: tuple[str, StepRecord], output: FioOutput
) -> AuditCheck:
    series = step_series(evidence, run_id, *closed)
    counted = totals_of(output)
    runtime_s = {direction: total.runtime_s for direction, total in counted.items()}
    totals: dict[tuple[Direction, str], float] = {}
    sums: dict[tuple[Direction, str], float] = {}
    for direction, total in counted.items():
        if direction == "sync":
            continue
        totals[direction, "iops"] = total.ios
        totals[direction, "bytes_per_s"] = total.bytes
        rows = series.filter(series["direction"] == direction) if series.height else series
        if not rows.height:
            continue
        # the last second lasts as long as fio still ran in it
        length = (total.runtime_s - rows["second"]).clip(0.0, 1.0)
        for column in ("iops", "bytes_per_s"):
            if rows[column].null_count() < rows.height:
                sums[direction, column] = float((rows[column].fill_null(0.0) * length).sum())
    return audit_logs(sums, totals, runtime_s)
