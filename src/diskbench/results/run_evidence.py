"""Steps, phases and audits of runs, read from their evidence. A run whose evidence is gone or
damaged has none; this is logged, and the rest of its result is shown.

Figures that are pooled need the phases of their steps alone: a mean must not span a cliff (MR-3).
Only steps of a minute or more have phases (on a lab disk whose credit is scaled, shorter ones do,
too): this is known from their rows, and quick runs, most of a history, are skipped."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from sqlalchemy.engine import Engine

from diskbench.analysis.changes import SHORTEST_STEP_S
from diskbench.catalog.published import Published
from diskbench.errors import DiskbenchError, EvidenceDamaged, StoreUnavailable, UnknownName
from diskbench.fio.declared import is_direct, job_text
from diskbench.fio.output import parse_output
from diskbench.fio.recorded import VOLUME, parse_exceeded
from diskbench.fio.reported import FioOutput
from diskbench.fio.samples import parse_samples
from diskbench.model.metrics import Exceeded, exceeded_within
from diskbench.model.phase import StepPhases
from diskbench.model.processor import MachineUse
from diskbench.model.result import StepAudit
from diskbench.model.run import MeasuredRow, Run
from diskbench.model.spec import Plan, Step
from diskbench.parallel import all_of, few_at_a_time, grouped
from diskbench.ports import EvidenceStore
from diskbench.store import archive
from diskbench.store.audits import run_audits
from diskbench.store.derived import read_pruned
from diskbench.store.evidence import open_evidence
from diskbench.store.evidence_place import check_readable
from diskbench.store.imported_report import imported_parts, published_figures
from diskbench.store.manifest import PrunedRun
from diskbench.store.parallel_evidence import AT_ONCE, is_away
from diskbench.store.parse_step import FIO_JSON, SAMPLES
from diskbench.store.phases import run_phases
from diskbench.store.rows import find_plans
from diskbench.units import NS_PER_S

OpenStore = Callable[[str | None], EvidenceStore]
Part = TypeVar("Part")
_LEAST_S = 10.0
_ALMOST = 0.98
"""fio's own run time may be up to 2 % below that of its process, by which phases are cut."""
Courses = Mapping[tuple[str, str], StepPhases]
"""Phases by run id and name of the step."""
_RUNS_AT_ONCE = 500
"""The plans of their trials are read in one statement and kept at a time; our choice."""


def open_kept(url: str | None) -> EvidenceStore:
    """The store at `url`, in which a run was kept. Raises StoreUnavailable."""
    if not url:
        raise StoreUnavailable("the location of its evidence was not recorded")
    return open_evidence(url)


@dataclass(frozen=True)
class StepEvidence:
    """One step as it ran, with its rates resolved (an imported step has the options in fio's
    report, and no job where it has none), fio's output, the samples taken beside it, and the
    seconds beyond each limit by the cloud's own counters; None where these were not kept.
    `says_direct` is false where the options leave out what was given."""

    step: Step
    output: FioOutput | None = None
    samples: MachineUse | None = None
    says_direct: bool = True
    exceeded: Exceeded | None = None


@dataclass(frozen=True)
class ReadRun:
    """What the evidence of a run says: its steps as they ran, their phases, whether their figures
    agree; and the published figures that it is, with all of their post."""

    steps: tuple[StepEvidence, ...] = ()
    phases: tuple[StepPhases, ...] = ()
    audits: tuple[StepAudit, ...] = ()
    figures: tuple[Published, ...] = ()
    of_post: tuple[Published, ...] = ()


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
            run_id, store = row.run_id, self.store(row)
            if store is None:
                return ReadRun()
            if row.has("published"):
                either = _read_if_there("post", run_id, lambda: published_figures(store, run_id))
                return ReadRun((), (), (), *either)
            # Without its steps a run is judged by its rows.
            steps = _read_if_there("steps", run_id, lambda: read_steps(store, run_id), quiet=True)
            phases = phases_of(store, run_id, plans.get(row.trial_id), number=row.number)
            if not with_audits:
                return ReadRun(steps, phases)
            audits = _read_if_there("audit", run_id, lambda: run_audits(store, run_id))
            return ReadRun(steps, phases, audits)

        # Those that wait for a network; this also opens the stores.
        stores = [(row, self.store(row)) for row in rows]
        away = {row.run_id: row for row, store in stores if store is not None and is_away(store)}
        read = {row.run_id: read_run(row) for row in rows if row.run_id not in away}
        fetched = all_of(read_run, list(away.values()), at_once=AT_ONCE)
        return read | dict(zip(away, fetched, strict=True))

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
    return _read_if_there("phases", run_id, lambda: run_phases(store, run_id, plan, run=number))


def _read_if_there(
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
    imported = []
    for step, part in imported_parts(evidence, run_id) or ():
        says_direct = all(is_direct(job, part, {}) is not None for job in part.jobs)
        of_report = step.model_copy(update={"job": job_text(part)})
        imported.append(StepEvidence(of_report, part, says_direct=says_direct))
    if imported:
        return tuple(imported)
    steps = tuple(_closed(evidence, run_id))
    if not steps and archive.read_manifest(evidence, run_id) is None:
        raise UnknownName("run", run_id, (), advice=f"{evidence.url} has no finished step of it")
    return steps


def _closed(evidence: EvidenceStore, run_id: str) -> Iterator[StepEvidence]:
    metrics = None
    with contextlib.suppress(EvidenceDamaged):  # the steps say enough without
        metrics = archive.read_metrics(evidence, run_id)
    for folder in archive.step_folders(evidence, run_id):
        record = archive.read_step(evidence, run_id, folder)
        if record is None:
            continue
        files, output = archive.result_files(evidence, run_id, record), None
        with contextlib.suppress(DiskbenchError):  # a failed step, which has no rows either
            if data := files.get(FIO_JSON):
                output = parse_output(data, where=f"{folder}/{FIO_JSON}")
        samples = files.get(SAMPLES)
        exceeded = parse_exceeded(files.get(VOLUME, b""))
        if not exceeded and metrics is not None:  # its volumes did not tell it in the guest
            ends = (record.started_at, record.finished_at)
            started, finished = (datetime.fromisoformat(text).timestamp() for text in ends)
            exceeded = exceeded_within(metrics.metrics, started, finished)
        parsed = parse_samples(samples) if samples else None
        yield StepEvidence(record.step, output, parsed, exceeded=exceeded)


def warn(part: str, run_id: str, error: DiskbenchError) -> None:
    """Log which part of a run (`what`) is missing, and why."""
    logging.getLogger(__name__).warning("no %s of run %s: %s", part, run_id, error.message)


def courses_of(
    database: Engine, rows: Sequence[MeasuredRow], evidence: EvidenceStore | None = None
) -> Courses:
    """The phases of the steps to which `rows` belong, where they have any: read from `evidence`, or
    from where each run was kept. A run whose evidence is gone or damaged has none (logged)."""
    runs = {row.run.run_id: row.run for row in long_steps(rows)}
    trials = grouped(runs.values(), lambda run: run.trial_id)
    stores = EvidenceOfRuns.of(evidence)
    courses: dict[tuple[str, str], StepPhases] = {}
    for few in few_at_a_time(trials.items(), _RUNS_AT_ONCE):
        plans = find_plans(database, [name for name, runs in few.items() if not runs[0].imported])
        planned = [(run, plans.get(run.trial_id)) for runs in few.values() for run in runs]
        for phases in all_of(lambda pair: stores.phases(*pair), planned):
            courses |= {(course.run_id, course.step): course for course in phases}
    return courses


def long_steps(rows: Sequence[MeasuredRow]) -> list[MeasuredRow]:
    """One row of each step whose rounds together lasted long enough to have phases."""
    steps = grouped(rows, lambda row: (row.run.run_id, row.step))
    long_rows = []
    for group in steps.values():
        rounds = {(row.step_index, row.round): row.runtime_ns or 0 for row in group}
        lab = (group[0].rent or {}).get("lab") or {}
        time_scale = max(1.0, float(lab.get("time_scale") or 1.0))
        shortest_s = max(_LEAST_S, SHORTEST_STEP_S / time_scale)
        if math.fsum(rounds.values()) / NS_PER_S >= _ALMOST * shortest_s:
            long_rows.append(group[0])
    return long_rows
