"""Phases and audits of runs, read from their evidence. A run whose evidence is gone or damaged has
neither; this is logged, and the rest of its result is shown."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, UnknownName
from diskbench.store.audits import run_audits
from diskbench.store.phases import run_phases
from diskbench.store.pruned import read_pruned

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.audit import StepAudit
    from diskbench.model.phase import StepPhases
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.ports import EvidenceStore
    from diskbench.store.manifest import PrunedRun

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
        return () if store is None else phases_of(store, row.run_id, plan, number=row.number)

    def audits(self, row: Run) -> tuple[StepAudit, ...]:
        """Whether the figures of a run's steps agree."""
        store = self.store(row)
        if store is None:
            return ()
        try:
            return tuple(run_audits(store, row.run_id))
        except UnknownName:  # nothing finished
            return ()
        except DiskbenchError as error:
            warn("audit", row.run_id, error)
            return ()

    def pruned(self, row: Run) -> PrunedRun | None:
        """Which raw logs of a run were pruned; None where none were."""
        store = self.store(row)
        try:
            return None if store is None else read_pruned(store, row.run_id)
        except DiskbenchError as error:
            warn("record of pruned logs", row.run_id, error)
            return None


def phases_of(
    store: EvidenceStore, run_id: str, plan: Plan | None, *, number: int
) -> tuple[StepPhases, ...]:
    """The phases of all steps of a run, whose number in its trial counts from 1."""
    try:
        return tuple(run_phases(store, run_id, plan, run=number))
    except UnknownName:  # nothing finished
        return ()
    except DiskbenchError as error:
        warn("phases", run_id, error)
        return ()


def warn(what: str, run_id: str, error: DiskbenchError) -> None:
    """Log which part of a run (`what`) is missing, and why."""
    logging.getLogger(__name__).warning("no %s of run %s: %s", what, run_id, error.message)
