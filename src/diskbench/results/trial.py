"""One trial with the data of its rows, its plan and its evidence, each read once, and judged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy.engine import Engine

from diskbench.analysis.row_figures import cliff_safe_rows, courses_by_step
from diskbench.analysis.sla import Sla, slas_of
from diskbench.catalog.books import Books
from diskbench.catalog.cost import TrialCost, cost_of
from diskbench.catalog.prices import done_work
from diskbench.errors import DiskbenchError
from diskbench.fio.audit import audit_warnings, run_warnings
from diskbench.model.expectation import Expectation
from diskbench.model.phase import StepPhases
from diskbench.model.result import Measurement, StepAudit, StepResult
from diskbench.model.result import Warning as Doubt
from diskbench.model.run import Run
from diskbench.model.spec import Plan
from diskbench.model.verdict import Verdict
from diskbench.plan.limit_path import Hint
from diskbench.results.run_evidence import EvidenceOfRuns, ReadRun, warn
from diskbench.results.verdicts import judge_and_keep
from diskbench.store.leases import load_lease
from diskbench.store.rows import find_plans
from diskbench.store.step_rows import load_results


@dataclass(frozen=True)
class Trial:
    """A trial and its runs (rows as in the database, in their order). `plan` is None for imported
    runs; `steps` are the results of each run. No mean in `measurements` spans a cliff (MR-3).
    `doubts` are all warnings: of steps, of runs that disagree, of audits. `slas` are what the
    search of each run found. `foreseen` is the
    expectation of an imported run on the disk that the user named for it, by run and step.
    `suspended`: no process works on the trial, and `diskbench resume` continues it."""

    trial_id: str
    runs: tuple[Run, ...]
    plan: Plan | None
    steps: Mapping[str, Sequence[StepResult]]
    measurements: tuple[Measurement, ...]
    doubts: tuple[Doubt, ...]
    phases: tuple[StepPhases, ...]
    verdicts: tuple[Verdict, ...]
    audits: tuple[StepAudit, ...]
    slas: Mapping[str, Sla] = field(default_factory=dict)
    cost: TrialCost | None = None
    foreseen: Mapping[tuple[str, int], Expectation] = field(default_factory=dict)
    suspended: bool = False


def read_trials(
    database: Engine,
    rows_of: Mapping[str, Sequence[Run]],
    evidence: EvidenceOfRuns,
    books: Books,
    *,
    hint: Hint | None = None,
    is_suspended: Callable[[str], bool] = lambda _: False,
) -> dict[str, Trial]:
    """Trials by their ids; `rows_of` are the runs of each, sorted here by their index; `hint` is
    the user's description of their disk. It takes as many statements as for one trial, and reads
    evidence behind a network several runs at a time. Where evidence is gone or damaged, phases,
    audits and verdicts are missing, which is logged. Raises UserError for a `hint` that names no
    disk."""
    rows = [row for of_trial in rows_of.values() for row in of_trial]
    plans = find_plans(database, list(rows_of))
    steps = load_results(database, *(row.run_id for row in rows))
    read = evidence.read(rows, plans)
    trials = {}
    for trial_id, of_trial in rows_of.items():
        runs = sorted(of_trial, key=lambda row: row.run_index)
        of_runs = {row.run_id: steps[row.run_id] for row in runs}
        plan = plans.get(trial_id)
        slas = slas_of(plan.search if plan else None, of_runs)
        judged = _judged(database, runs, of_runs, plan, read, evidence, books, hint, slas)
        verdicts, foreseen = judged
        phases = tuple(course for row in runs for course in read[row.run_id].phases)
        audits = tuple(audit for row in runs for audit in read[row.run_id].audits)
        courses = courses_by_step(phases)
        measured = []
        for of_run in of_runs.values():
            rows_of_run = [row for step in of_run for row in step.measurements]
            measured.append(cliff_safe_rows(rows_of_run, courses))
        doubts = [doubt for row in runs for step in of_runs[row.run_id] for doubt in step.warnings]
        doubts += run_warnings(measured)
        # Rows that an older version wrote contain no doubts about the logs.
        known = {(doubt.code, doubt.step, doubt.message) for doubt in doubts}
        doubts += [
            doubt
            for audit in audits
            for doubt in audit_warnings(audit.checks, audit.step)
            if (doubt.code, doubt.step, doubt.message) not in known
        ]
        trials[trial_id] = Trial(
            trial_id=trial_id,
            runs=tuple(runs),
            plan=plan,
            steps=of_runs,
            measurements=tuple(row for of_run in measured for row in of_run),
            doubts=tuple(doubts),
            phases=phases,
            verdicts=verdicts,
            audits=audits,
            slas=slas,
            cost=_cost(database, plan, of_runs),
            foreseen=foreseen,
            suspended=is_suspended(trial_id),
        )
    return trials


def _judged(
    database: Engine,
    runs: Sequence[Run],
    steps: Mapping[str, Sequence[StepResult]],
    plan: Plan | None,
    read: Mapping[str, ReadRun],
    evidence: EvidenceOfRuns,
    books: Books,
    hint: Hint | None,
    slas: Mapping[str, Sla],
) -> tuple[tuple[Verdict, ...], Mapping[tuple[str, int], Expectation]]:
    """The verdicts, and the expectations of imported runs."""
    if evidence.store(runs[0]) is None:
        return (), {}
    try:
        verdicts, promises = judge_and_keep(
            database, runs, steps, plan, read, books, slas, hint=hint
        )
    except DiskbenchError as error:
        if hint is not None:
            raise
        warn("verdict", runs[0].run_id, error)
        return (), {}
    if plan is not None:
        return verdicts, {}
    return verdicts, {place: promise.foreseen for place, promise in promises.items()}


def _cost(
    database: Engine, plan: Plan | None, steps: Mapping[str, Sequence[StepResult]]
) -> TrialCost | None:
    """The cost of a trial's lease in US dollars, over all its runs; None where nothing was rented,
    or where the lease is not known (a database that was rebuilt from evidence has no leases)."""
    lease = load_lease(database, plan.trial_id) if plan and plan.rental else None
    if plan is None or lease is None:
        return None
    missing = [run_id for run_id in plan.run_ids if run_id not in steps]
    all_steps = {**steps, **(load_results(database, *missing) if missing else {})}
    of_trial = (step for run_id in plan.run_ids for step in all_steps[run_id])
    rows = [row for step in of_trial for row in step.measurements]
    seconds = lease.age_s(datetime.now(UTC))
    cost = cost_of(plan.rental, seconds, done_work(rows))
    return TrialCost(
        **cost.model_dump(),
        trial_id=plan.trial_id,
        emulated=plan.emulated,
        ended=lease.released_at is not None,
    )
