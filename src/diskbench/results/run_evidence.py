"""Phases and audits of runs, read from their evidence. A run whose evidence is gone or damaged has
neither; this is logged, and the rest of its result is shown."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, UnknownName
from diskbench.fio.audit import audit_warnings
from diskbench.store.audits import run_audits
from diskbench.store.phases import run_phases

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from diskbench.model.audit import StepAudit
    from diskbench.model.phase import StepPhases
    from diskbench.model.result import Warning  # noqa: A004 - the field's word
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.ports import EvidenceStore

    OpenStore = Callable[[str | None], EvidenceStore]


class EvidenceOfRuns:
    """The evidence stores of runs: the one at `url` where the user gave it, else each run's own.
    Each is opened once, by `open_store`."""

    def __init__(self, open_store: OpenStore, url: str | None = None) -> None:
        self._open = open_store
        self._url = url
        self._stores: dict[str | None, EvidenceStore | None] = {}

    def store(self, row: Run) -> EvidenceStore | None:
        """The evidence store of a run (a row); None where it cannot be reached."""
        url = self._url or row.evidence_url
        if url not in self._stores:
            try:
                self._stores[url] = self._open(url)
            except DiskbenchError as error:
                warn("evidence", row.run_id, error)
                self._stores[url] = None
        return self._stores[url]

    def phases(self, row: Run, plan: Plan | None) -> tuple[StepPhases, ...]:
        """The phases of a run's steps."""
        store = self.store(row)
        named = [(row.run_id, row.number)]
        return tuple(phases_of(store, plan, named)) if store is not None else ()

    def audits(self, row: Run) -> tuple[StepAudit, ...]:
        """Whether the figures of a run's steps agree."""
        store = self.store(row)
        return tuple(audits_of(store, [row.run_id])) if store is not None else ()


def phases_of(
    store: EvidenceStore, plan: Plan | None, runs: Sequence[tuple[str, int]]
) -> list[StepPhases]:
    """The phases of all steps of runs, each named by its id and its number in the trial, from 1."""
    phases: list[StepPhases] = []
    for run_id, number in runs:
        try:
            phases += run_phases(store, run_id, plan, run=number)
        except UnknownName:  # nothing finished
            continue
        except DiskbenchError as error:
            warn("phases", run_id, error)
    return phases


def audits_of(store: EvidenceStore, run_ids: Sequence[str]) -> list[StepAudit]:
    """Whether the figures of the steps of runs in a store agree."""
    audits: list[StepAudit] = []
    for run_id in run_ids:
        try:
            audits += run_audits(store, run_id)
        except UnknownName:  # nothing finished
            continue
        except DiskbenchError as error:
            warn("audit", run_id, error)
    return audits


def audit_doubts(audits: Sequence[StepAudit], known: Sequence[Warning]) -> list[Warning]:
    """The doubts of audits that are not among the `known` warnings: rows that an older version
    wrote contain no doubts about the logs."""
    known_doubts = {(warning.code, warning.step, warning.message) for warning in known}
    doubts = [doubt for audit in audits for doubt in audit_warnings(audit.checks, audit.step)]
    return [
        doubt for doubt in doubts if (doubt.code, doubt.step, doubt.message) not in known_doubts
    ]


def warn(what: str, run_id: str, error: DiskbenchError) -> None:
    """Log which part of a run (`what`) is missing, and why."""
    logging.getLogger(__name__).warning("no %s of run %s: %s", what, run_id, error.message)
