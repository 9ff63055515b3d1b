"""The audit of a run from its evidence: made when the run ends, and kept beside it.

What does not hold becomes a doubt in the rows of the step, the same for a run, for its rebuild and
for an import.
"""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import TypeAdapter

from diskbench.errors import DiskbenchError, FioOutputUnreadable, UnknownName
from diskbench.fio.audit import audit_logs, audit_output, audit_warnings
from diskbench.fio.declared import declared, is_set
from diskbench.fio.reported import FIO_REPORTS, FioOutput, Total, totals_of
from diskbench.model.doubts import FIGURES_DISAGREE
from diskbench.model.result import AuditCheck, Direction, StepAudit, StepResult
from diskbench.model.spec import Step
from diskbench.ports import EvidenceStore
from diskbench.store.archive import read_manifest
from diskbench.store.derived import audit_instead, derived_folder, keep
from diskbench.store.manifest import StepRecord
from diskbench.store.stored_series import (
    SeriesColumns,
    closed_steps,
    output_of,
    series_columns,
    step_outputs,
)

log = logging.getLogger(__name__)

AUDITS_VERSION = 5
"""Incremented when the same evidence gives another audit; older cached audits are then unused."""
_KEPT = f"audits-{AUDITS_VERSION}.json"
_AUDITS = TypeAdapter(tuple[StepAudit, ...])


def run_audits(evidence: EvidenceStore, run_id: str) -> tuple[StepAudit, ...]:
    """The audit of each step with a report of fio, in order. The audits of a run that has ended are
    cached. The figures of another tool cannot be audited, so nothing is read or cached for them.

    Raises UnknownName for a run without evidence, FioOutputUnreadable, EvidenceDamaged.
    """
    manifest = read_manifest(evidence, run_id)
    of_import = manifest.imported if manifest else None
    if of_import is not None and of_import.kind not in FIO_REPORTS:
        return ()
    key = f"{derived_folder(run_id)}/{_KEPT}"
    with contextlib.suppress(KeyError, ValueError):
        return _AUDITS.validate_json(evidence.get(key))
    closed: dict[int, tuple[str, StepRecord]] = {}
    with contextlib.suppress(UnknownName):  # imported without logs, or nothing was finished
        closed = {pair[1].step.index: pair for pair in closed_steps(evidence, run_id)}
    audits = tuple(
        StepAudit(
            run_id=run_id,
            step_index=step.index,
            step=step.name,
            round=step.round,
            checks=audit_step(evidence, run_id, step, output, closed.get(step.index)),
        )
        for step, output in _outputs(evidence, run_id, closed.values(), imported=bool(of_import))
    )
    if manifest is not None:
        keep(evidence, key, _AUDITS.dump_json(audits, indent=1))
    return audits


def doubted(steps: Sequence[StepResult], audits: Sequence[StepAudit]) -> tuple[StepResult, ...]:
    """The steps of a run, each with a doubt added for every failed check that has none yet."""
    checks = {audit.step_index: audit.checks for audit in audits}
    doubted_steps = []
    for step in steps:
        known = {each.message for each in step.warnings if each.code == FIGURES_DISAGREE.code}
        more = audit_warnings(checks.get(step.step_index, ()), step.step)
        new = {"warnings": (*step.warnings, *(each for each in more if each.message not in known))}
        is_new = len(new["warnings"]) > len(step.warnings)
        doubted_steps.append(step.model_copy(update=new) if is_new else step)
    return tuple(doubted_steps)


def audited(
    evidence: EvidenceStore, run_id: str, steps: Sequence[StepResult]
) -> tuple[StepResult, ...]:
    """`doubted` by the audit of a run of diskbench. An audit that fails is logged and does not
    affect the run."""
    try:
        return doubted(steps, run_audits(evidence, run_id) if steps else ())
    except DiskbenchError as error:
        log.warning("no audit of run %s: %s", run_id, error.message)
        return tuple(steps)


def _outputs(
    evidence: EvidenceStore, run_id: str, steps: Iterable[tuple[str, StepRecord]], *, imported: bool
) -> Iterator[tuple[Step, FioOutput]]:
    """The reports of fio on finished steps. A step of diskbench that was stopped, or whose output
    cannot be read, has no rows."""
    if imported:
        with contextlib.suppress(UnknownName):  # no logs, in several steps
            yield from step_outputs(evidence, run_id, None)
        return
    for folder, record in steps:
        if record.stopped:
            continue
        try:
            output = output_of(evidence, run_id, folder, record)
        except FioOutputUnreadable:
            continue
        if output is not None:
            yield record.step, output


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
    if any(is_set(options, "latency_target") for options in declared(step.job).values()):
        cleared = "fio cleared its counts at each step of latency_target: logs hold other I/Os"
        logs = AuditCheck(name="logs", holds=None, message=cleared)
    elif closed is not None:
        try:
            logs = _logs(evidence, run_id, closed, output)
        except DiskbenchError as error:
            logs = AuditCheck(name="logs", holds=False, message=error.message)
            with contextlib.suppress(DiskbenchError):  # they may have been pruned
                logs = audit_instead(evidence, run_id, closed[0]) or logs
    return (*checks, logs)


def _logs(
    evidence: EvidenceStore, run_id: str, closed: tuple[str, StepRecord], output: FioOutput
) -> AuditCheck:
    counted = totals_of(output)
    runtime_s = {direction: total.runtime_s for direction, total in counted.items()}
    totals: dict[tuple[Direction, str], float] = {}
    for direction, total in counted.items():
        if direction != "sync":
            totals[direction, "iops"] = total.ios
            totals[direction, "bytes_per_s"] = total.bytes
    sums = _series_sums(series_columns(evidence, run_id, *closed), counted)
    return audit_logs(sums, totals, runtime_s)


def _series_sums(
    series: SeriesColumns, counted: Mapping[Direction, Total]
) -> dict[tuple[Direction, str], float]:
    """What the logs of a step sum up to."""
    import numpy as np

    sums: dict[tuple[Direction, str], float] = {}
    columns = {"iops": series.iops, "bytes_per_s": series.bytes_per_s}
    for direction, total in counted.items():
        rows = series.direction == direction
        # the last second lasts as long as fio still ran in it
        length = np.clip(total.runtime_s - series.second[rows], 0.0, 1.0)
        for name, column in columns.items():
            rates = column[rows]
            if not np.isnan(rates).all():
                sums[direction, name] = float((np.nan_to_num(rates) * length).sum())
    return sums
