"""Steps, phases and audits of runs, read from their evidence. A run whose evidence is gone or
damaged has none; this is logged, and the rest of its result is shown."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from diskbench.errors import DiskbenchError, StoreUnavailable, UnknownName
from diskbench.fio.declared import is_direct
from diskbench.fio.output import parse_output
from diskbench.fio.reported import FioOutput
from diskbench.fio.samples import parse_samples
from diskbench.fio.volume import VOLUME, Exceeded, parse_exceeded
from diskbench.importers.fio_report import FIO_REPORTS, job_text, report_steps
from diskbench.model.phase import StepPhases
from diskbench.model.processor import SampleSummary
from diskbench.model.result import StepAudit
from diskbench.model.run import Run
from diskbench.model.spec import Plan, Step
from diskbench.parallel import all_of
from diskbench.ports import EvidenceStore
from diskbench.store.archive import (
    read_manifest,
    read_step,
    result_files,
    run_prefix,
    step_folders,
)
from diskbench.store.audits import run_audits
from diskbench.store.content import read_file
from diskbench.store.derived import read_pruned
from diskbench.store.evidence import open_evidence
from diskbench.store.evidence_place import check_readable
from diskbench.store.manifest import PrunedRun
from diskbench.store.parallel_evidence import AT_ONCE, is_away
from diskbench.store.parse_step import FIO_JSON, SAMPLES
from diskbench.store.phases import run_phases

OpenStore = Callable[[str | None], EvidenceStore]
Part = TypeVar("Part")


def open_kept(url: str | None) -> EvidenceStore:
    """The store at `url`, in which a run was kept. Raises StoreUnavailable."""
    if not url:
        raise StoreUnavailable("where its evidence is was not recorded")
    return open_evidence(url)


@dataclass(frozen=True)
class StepEvidence:
    """One step as it ran, with its rates resolved (an imported step has the options in fio's
    report, and no job where it has none), fio's output, the samples taken beside it, and the
    seconds beyond each limit by the cloud's own counters; None where these were not kept.
    `says_direct` is false where the options leave out what was given."""

    step: Step
    output: FioOutput | None = None
    samples: SampleSummary | None = None
    says_direct: bool = True
    exceeded: Exceeded | None = None


@dataclass(frozen=True)
class ReadRun:
    """What the evidence of a run says: its steps as they ran, their phases, and whether their
    figures agree."""

    steps: tuple[StepEvidence, ...] = ()
    phases: tuple[StepPhases, ...] = ()
    audits: tuple[StepAudit, ...] = ()


@dataclass
class EvidenceOfRuns:
    """The evidence stores of runs: the one at `url` where the user gave it, else each run's own.
    Each is opened once, by `open_store`."""

    open_store: OpenStore = open_kept
    url: str | None = None
    _stores: dict[str | None, EvidenceStore | None] = field(default_factory=dict)

    @classmethod
    def of(cls, only: EvidenceStore | None) -> EvidenceOfRuns:
        """The store `only` for every run; None: each run's own."""
        return cls() if only is None else cls(lambda _: only, only.url)

    def at(self, url: str | None) -> EvidenceStore:
        """The store of a run that was kept at `url`. Raises StoreUnavailable."""
        url = self.url or url
        if (store := self._stores.get(url)) is None:
            if self.url is None and url:
                check_readable(url)
            store = self._stores[url] = self.open_store(url)
        return store

    def store(self, row: Run) -> EvidenceStore | None:
        """The evidence store of a run (a row); None where it cannot be reached."""
        url = self.url or row.evidence_url
        if url not in self._stores:
            try:
                return self.at(url)
            except DiskbenchError as error:
                warn("evidence", row.run_id, error)
                self._stores[url] = None
        return self._stores[url]

    def phases(self, row: Run, plan: Plan | None) -> tuple[StepPhases, ...]:
        """The phases of a run's steps."""
        store = self.store(row)
        return () if store is None else phases_of(store, row.run_id, plan, number=row.number)

    def read(
        self, rows: Sequence[Run], plans: Mapping[str, Plan], *, with_audits: bool = True
    ) -> dict[str, ReadRun]:
        """What the evidence of runs says, by run; `plans` are those of their trials. Several are
        read at a time where it lies behind a network."""

        def read_run(row: Run) -> ReadRun:
            return self._read(row, plans, with_audits=with_audits)

        away = {row.run_id: row for row in rows if self._is_away(row)}
        read = {row.run_id: read_run(row) for row in rows if row.run_id not in away}
        fetched = all_of(read_run, list(away.values()), at_once=AT_ONCE)
        return read | dict(zip(away, fetched, strict=True))

    def _is_away(self, row: Run) -> bool:
        """Whether reading waits for a network; it also opens the store."""
        store = self.store(row)
        return store is not None and is_away(store)

    def _read(self, row: Run, plans: Mapping[str, Plan], *, with_audits: bool) -> ReadRun:
        store = self.store(row)
        if store is None:
            return ReadRun()
        return ReadRun(
            # Without its steps a run is judged by its rows.
            _known("steps", row.run_id, lambda: read_steps(store, row.run_id), quiet=True),
            phases_of(store, row.run_id, plans.get(row.trial_id), number=row.number),
            _known("audit", row.run_id, lambda: run_audits(store, row.run_id))
            if with_audits
            else (),
        )

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
    """The phases of all steps of a run, whose number in its trial counts from 1. A run whose
    evidence is gone or damaged has none; damage is logged."""
    return _known("phases", run_id, lambda: run_phases(store, run_id, plan, run=number))


def _known(
    part: str, run_id: str, read: Callable[[], Sequence[Part]], *, quiet: bool = False
) -> tuple[Part, ...]:
    """What `read` finds of a run, if anything; damage is logged unless it is `quiet`."""
    try:
        return tuple(read())
    except UnknownName:  # nothing finished, or imported without it
        return ()
    except DiskbenchError as error:
        if not quiet:
            warn(part, run_id, error)
        return ()


def read_steps(evidence: EvidenceStore, run_id: str) -> tuple[StepEvidence, ...]:
    """The steps of a run in order. Raises UnknownName for a run without evidence, EvidenceDamaged
    and FioOutputUnreadable for files that were changed or cannot be parsed."""
    manifest = read_manifest(evidence, run_id)
    record = manifest.imported if manifest else None
    if record is not None and record.kind in FIO_REPORTS:
        data = read_file(evidence, run_prefix(run_id), record.name, record.files[record.name])
        return tuple(
            StepEvidence(
                step.model_copy(update={"job": job_text(part)}),
                part,
                says_direct=all(is_direct(job, part, {}) is not None for job in part.jobs),
            )
            for step, part in report_steps(record.kind, data, record.index, where=record.name)
        )
    steps = tuple(_closed(evidence, run_id))
    if not steps and manifest is None:
        raise UnknownName("run", run_id, (), advice=f"{evidence.url} has no finished step of it")
    return steps


def _closed(evidence: EvidenceStore, run_id: str) -> Iterator[StepEvidence]:
    for folder in step_folders(evidence, run_id):
        record = read_step(evidence, run_id, folder)
        if record is None:
            continue
        files = result_files(evidence, run_id, record)
        output, samples = files.get(FIO_JSON), files.get(SAMPLES)
        yield StepEvidence(
            record.step,
            _parsed(output, f"{folder}/{FIO_JSON}") if output else None,
            parse_samples(samples) if samples else None,
            exceeded=parse_exceeded(files.get(VOLUME, b"")),
        )


def _parsed(data: bytes, where: str) -> FioOutput | None:
    try:
        return parse_output(data, where=where)
    except DiskbenchError:
        return None  # a failed step, which has no rows either


def warn(part: str, run_id: str, error: DiskbenchError) -> None:
    """Log which part of a run (`what`) is missing, and why."""
    logging.getLogger(__name__).warning("no %s of run %s: %s", part, run_id, error.message)
