"""Runs, rows and results as the database knows them, for tests of what is made of them."""

from typing import Any

from tests.rigs.plans import make_plan

from diskbench.model.result import Measurement, StepResult
from diskbench.model.run import RUN_FIELDS, Run
from diskbench.store.run_row import run_row


def a_run(**changes: Any) -> Run:
    return Run(**(run_row(make_plan(), 0, "file:///e") | changes))


def bare_run(**known: Any) -> Run:
    return Run(**(dict.fromkeys(RUN_FIELDS) | {"labels": {}, "parameters": {}} | known))


def a_row(run_id: str, iops: float, *, step: str = "read", **more: Any) -> Measurement:
    """The step row of reads of 4 KiB at a rate, unless `more` says otherwise."""
    known: dict[str, Any] = {"role": "measure", "scope": "step", "job": "all", "job_index": -1}
    known |= {"step_index": 0, "direction": "read", "ios": 100, "runtime_ns": 10**9}
    size = more.get("block_bytes") or 4096
    known |= {"block_bytes": size, "bytes": 100 * size, "bytes_per_s": iops * size}
    return Measurement(run_id=run_id, step=step, iops=iops, **known | more)


def a_result(*rows: Measurement, **more: Any) -> StepResult:
    """What came of the step of these rows."""
    known = {"step_index": rows[0].step_index, "step": rows[0].step, "role": "measure"}
    known |= {"started_at": "2026-11-21T10:00:00.000000+00:00", "fio_version": "fio-3.33"}
    known |= {"finished_at": "2026-11-21T10:00:05.000000+00:00", "fio_exit": 0}
    return StepResult(**known | {"measurements": rows} | more)
