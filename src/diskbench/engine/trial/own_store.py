"""A run stays in the evidence store in which it began; only a complete copy may replace it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.model.ids import short
from diskbench.store.archive import read_plan, read_step, run_prefix, step_folders
from diskbench.store.evidence_place import is_same_store
from diskbench.store.rows import evidence_url_of, move_evidence
from diskbench.store.step_rows import load_results

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.model.spec import Plan
    from diskbench.ports import EvidenceStore


def go_on_in(session: Session, plan: Plan) -> None:
    """Continue a trial in this session's store, which the user named. It must be the store in which
    the trial began, or contain every step of the trial that has rows; in this case the store was
    moved, and the rows of the runs are updated. Raises InvalidValue for any other store."""
    url = evidence_url_of(session.database, plan.trial_id)
    if url is None or is_same_store(url, session.evidence.url):
        return
    missing = _missing(session, plan, session.evidence)
    if missing is not None:
        raise InvalidValue(
            f"the evidence of {short(plan.trial_id)} is in {url}, and {session.evidence.url} lacks "
            f"{missing}",
            advice="leave out --evidence-url, or copy the whole store there first",
        )
    move_evidence(session.database, plan.trial_id, session.evidence.url)


def _missing(session: Session, plan: Plan, store: EvidenceStore) -> str | None:
    """The first file or step of a trial that the store lacks, in words; None: it is complete."""
    results = load_results(session.database, *plan.run_ids)
    for run_id in plan.run_ids:
        try:
            if not plan.is_draft:
                read_plan(store, run_id)
            closed = [read_step(store, run_id, folder) for folder in step_folders(store, run_id)]
        except KeyError:
            return f"{run_prefix(run_id)}/plan.json"
        except DiskbenchError as error:
            return f"a whole {run_prefix(run_id)}: {error.message}"
        there = {record.step.index for record in closed if record is not None}
        for result in results[run_id]:
            if result.step_index not in there:
                return f"step {result.step!r} of run {short(run_id)}"
    return None
