"""All that a report tells of the runs that were asked for, brought together from the stores."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError, InvalidValue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.expectation import Expectation
    from diskbench.model.phase import StepPhases
    from diskbench.model.result import StepResult
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.model.verdict import Verdict
    from diskbench.ports import EvidenceStore
    from diskbench.report.course import Course
    from diskbench.report.trial_report import Group, RunNote, TrialReport


def runs_of(database: Engine, asked: Sequence[str], filters: Sequence[str]) -> list[Run]:
    """The runs (rows, oldest first) that any of `asked` names and that meet all `filters`; with a
    run its whole trial. Without `asked` all that meet the filters, or of the newest trial.

    Raises UnknownName, InvalidValue: also where nothing was found.
    """
    from diskbench.engine.selection import conditions, selected
    from diskbench.store.query import LAST, Filter, find_runs

    met = conditions(database, filters)
    found: dict[str, Run] = {}
    for text in asked or ([] if filters else [LAST]):
        wanted = selected(database, text)
        trials = [one for one in wanted if one.field == "run_id"]
        for row in find_runs(database, [*wanted, *met]):
            if trials:  # the other runs of its trial belong to it
                whole = [Filter("trial_id", "=", row.trial_id), *met]
                found |= {each.run_id: each for each in find_runs(database, whole)}
            found[row.run_id] = row
    if not asked and filters:
        found = {row.run_id: row for row in find_runs(database, met)}
    if not found:
        told = " ".join([*asked, *filters])
        raise InvalidValue(
            f"{told!r} names no run", advice="'diskbench results list' shows what there is"
        )
    return sorted(found.values(), key=_by_time)


def _by_time(row: Run) -> tuple[bool, str, str]:
    """Oldest first, and those without a date last."""
    return row.measured_at is None, row.measured_at or "", row.run_id


class Gathered:
    """The trials of a report, and the plans and phases that its charts are drawn of, too."""

    def __init__(self, database: Engine, evidence_url: str | None) -> None:
        from diskbench.engine.refreshed import open_books

        self.database = database
        self.evidence_url = evidence_url
        self._books = open_books()
        self.plans: dict[str, Plan | None] = {}
        self.phases: dict[str, tuple[StepPhases, ...]] = {}
        """By run."""
        self.common = ""
        """What all groups asked for, in words."""
        self._stores: dict[str | None, EvidenceStore | None] = {}
        self._said: dict[str, dict[int, Expectation]] = {}
        """What an imported run should have got on the disk that was named for it, by step."""

    def groups(self, runs: Sequence[Run]) -> tuple[Group, ...]:
        """Runs by what was asked for, then by trial, in the order of time."""
        from diskbench.engine.trial_figures import common_fields, subject_of, words
        from diskbench.report.trial_report import Group
        from diskbench.store.rows import load_results

        steps = load_results(self.database, *(row.run_id for row in runs))
        trials: dict[str, list[Run]] = defaultdict(list)
        for row in runs:
            trials[row.trial_id].append(row)
        groups: dict[Any, list[TrialReport]] = defaultdict(list)
        for trial_id, rows in trials.items():
            rows.sort(key=lambda row: row.run_index)
            report = self._trial(trial_id, rows, steps)
            subject = subject_of(rows[0], self._rent(trial_id))
            # What was imported tells little of its subject but the name of its file.
            file = report.subject.title if rows[0].imported else ""
            groups[subject, file].append(report)
        named = [subject for subject, file in groups if not file]
        common = common_fields(named) if len(named) > 1 else ()
        self.common = words(common)
        without = {name for name, _ in common}
        return tuple(
            Group(
                words=file or words(subject) or "all",
                trials=tuple(found),
                short=file or words(subject, without=without),
            )
            for (subject, file), found in groups.items()
        )

    def courses(self, store: EvidenceStore, row: Run) -> tuple[Course, ...]:
        """The measured steps of a run second by second, in the order of the plan. Raises
        UnknownName where its evidence is gone, FioOutputUnreadable for damaged logs."""
        from diskbench.report.course import courses
        from diskbench.store.frames import series_frame

        filled = self.filled(row)
        return courses(
            series_frame(store, row.run_id),
            self.phases[row.run_id],
            self.plans[row.trial_id],
            run=row.number,
            said=self._said.get(row.run_id),
            wanted=lambda step: step not in filled,
        )

    def filled(self, row: Run) -> frozenset[str]:
        """The steps of a run that only prepare the disk."""
        plan = self.plans[row.trial_id]
        steps = plan.steps if plan else ()
        return frozenset(one.name for one in steps if one.role == "fill")

    def store(self, row: Run) -> EvidenceStore | None:
        """Where the evidence of a run lies: the store that was typed, or the one it was kept in;
        None where that cannot be reached."""
        from diskbench.cli.stores import evidence

        url = self.evidence_url or row.evidence_url
        if url not in self._stores:
            try:
                self._stores[url] = evidence(url)
            except DiskbenchError as error:
                _warn("no evidence", row.run_id, error)
                self._stores[url] = None
        return self._stores[url]

    def _rent(self, trial_id: str) -> dict[str, Any] | None:
        plan = self.plans[trial_id]
        rent = plan.cell.rent if plan else None
        return rent.model_dump() if rent else None

    def _trial(
        self, trial_id: str, rows: Sequence[Run], steps: Mapping[str, Sequence[StepResult]]
    ) -> TrialReport:
        from diskbench.analysis.row_figures import courses_by_step, levelled_rows
        from diskbench.cli.results_show import trial_cost
        from diskbench.engine.dependence import machine_of
        from diskbench.fio.warnings import run_warnings
        from diskbench.report.cost_text import cost_line
        from diskbench.report.next_step import run_again
        from diskbench.report.subject import subject_of_runs
        from diskbench.report.trial_report import TrialReport
        from diskbench.store.rows import find_plan

        plan = self.plans[trial_id] = find_plan(self.database, trial_id)
        subject = subject_of_runs(rows, plan)
        results = [step for row in rows for step in steps[row.run_id]]
        cost = trial_cost(self.database, plan)
        verdicts = self._judged(rows, plan, steps)
        phases = tuple(one for row in rows for one in self.phases[row.run_id])
        courses = courses_by_step(phases)
        of_runs = [
            levelled_rows([m for s in steps[row.run_id] for m in s.measurements], courses)
            for row in rows
        ]
        return TrialReport(
            trial_id=trial_id,
            subject=subject,
            runs=tuple(_note(row, self._audit(row)) for row in rows),
            measurements=tuple(m for of_run in of_runs for m in of_run),
            warnings=(*(w for step in results for w in step.warnings), *run_warnings(of_runs)),
            phases=phases,
            verdicts=verdicts,
            labels=tuple(sorted((str(k), str(v)) for k, v in rows[0].labels.items())),
            notes=plan.notes if plan else (),
            place=_place(rows[0]),
            versions=_versions(rows[0], plan),
            machine=machine_of(rows[0], rented=bool(plan and plan.cell.rent)),
            price=plan.expectation.price if plan and plan.expectation else None,
            cost=cost_line(cost) if cost is not None else "",
            job=_job(plan),
            again="" if rows[0].imported else run_again(subject, subject.runs_planned),
        )

    def _audit(self, row: Run) -> str:
        """Whether the figures of a run agree, as a line."""
        from diskbench.cli.results_show import audits_of
        from diskbench.report.audit_text import audit_line

        store = self.store(row)
        return audit_line(audits_of(store, [row.run_id])) if store is not None else ""

    def _judged(
        self, rows: Sequence[Run], plan: Plan | None, steps: Mapping[str, Sequence[StepResult]]
    ) -> tuple[Verdict, ...]:
        """The verdicts on the runs of a trial; their phases are kept."""
        from diskbench.cli.results_show import phases_of
        from diskbench.engine.verdicts import judge
        from diskbench.plan.as_disk import hint_of

        for row in rows:
            named = [(row.run_id, row.number)]
            store = self.store(row)
            self.phases[row.run_id] = tuple(phases_of(store, plan, named)) if store else ()
        store = self.store(rows[0])
        if store is None:
            return ()
        hint = hint_of(rows[0].labels or {})
        try:
            verdicts, promises = judge(
                store, rows, steps, plan, self.phases, self._books, hint=hint
            )
        except DiskbenchError as error:
            _warn("no verdict", rows[0].run_id, error)
            return ()
        if plan is None:
            for (run_id, index), one in promises.items():
                self._said.setdefault(run_id, {})[index] = one.foreseen
        return verdicts


def _warn(what: str, run_id: str, error: DiskbenchError) -> None:
    logging.getLogger(__name__).warning("%s of run %s: %s", what, run_id, error.message)


def _note(row: Run, audit: str) -> RunNote:
    from diskbench.report.trial_report import RunNote

    url = row.evidence_url
    return RunNote(
        run_id=row.run_id,
        state=row.state,
        when=row.when or "",
        error=row.error or "",
        advice=row.advice or "",
        evidence=f"{url}/runs/{row.run_id}/" if url else "",
        audit=audit,
    )


def _place(row: Run) -> str:
    words = (row.region, row.zone)
    return ", ".join(dict.fromkeys(str(word) for word in words if word))


def _versions(row: Run, plan: Plan | None) -> tuple[tuple[str, str], ...]:
    found = {
        "diskbench": row.diskbench_version,
        "fio": (row.fio_version or "").removeprefix("fio-"),
        "kernel": row.kernel,
        "distribution": row.distribution,
        "profile": f"{row.profile} ({row.profile_digest[:12]})"
        if row.profile_digest
        else row.profile,
        "catalogue": plan.catalogue[:12] if plan and plan.catalogue else "",
    }
    return tuple((name, str(value)) for name, value in found.items() if value)


def _job(plan: Plan | None) -> str:
    """The job file of each step, each under the name of its step."""
    if plan is None:
        return ""
    return "\n".join(
        f"# step {one.index + 1}: {one.name}\n{one.job.strip()}\n" for one in plan.steps
    )
