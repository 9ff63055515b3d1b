"""The effects of each station of a cell, of a matrix or of a run; each is idempotent. The plan of
an attempt is written as rows before anything is rented."""

import contextlib
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial

from ulid import ULID

from diskbench.catalog.cost import cost_of
from diskbench.catalog.prices import done_work
from diskbench.engine.matrix.machine_reuse import keeps_machine, placed
from diskbench.engine.session import Session
from diskbench.engine.trial.lease import save
from diskbench.engine.trial.metrics import keep_metrics
from diskbench.engine.trial.planning import check_rentable, draft_of, plan_on_host
from diskbench.engine.trial.probe import queued_behind, without_canary_of_others
from diskbench.engine.trial.release import end_hold, end_unfinished, hand_back, keep_trial_rows
from diskbench.engine.trial.rent import rent
from diskbench.engine.trial.steps import LiveTrialSteps, failed, judge_trial
from diskbench.engine.trial.stop import BY_USER, RetryPolicy, Stop
from diskbench.errors import DiskbenchError, ReleaseFailed, StoreUnavailable, Suspended
from diskbench.hosts.ssh import host_at
from diskbench.model.campaign import LIVE, CellRow
from diskbench.model.outcome import Outcome, Problem, RunEnd, problem_of
from diskbench.model.result import StepResult
from diskbench.model.spec import Plan
from diskbench.plan.admit import after, zone_of
from diskbench.plan.cost import renting_s
from diskbench.plan.trial import TrialIds
from diskbench.ports import Watcher
from diskbench.store.archive import write_plan
from diskbench.store.campaigns import (
    CampaignRow,
    asked_to_stop,
    cell_of_trial,
    end_run_cell,
    live_cells,
    load_campaign,
    update_cell,
)
from diskbench.store.database import database_time
from diskbench.store.dialects import iso, present
from diskbench.store.leases import Lease, load_lease
from diskbench.store.profile_file import find_profile
from diskbench.store.rows import find_plan, load_plan
from diskbench.store.step_rows import load_results

log = logging.getLogger(__name__)
_NOT_KEPT = Problem(
    kind="NotKept",
    message="its runs ended, but their end could not be stored",
    advice="what was kept of them is in the evidence store; the log says why",
)


@dataclass(frozen=True)
class TrialEnding:
    """How a trial ended in this process: the end of its runs, or why they never began; why its
    machine could not be given back; or what suspended it, for another process to resume it."""

    trial_id: str
    end: tuple[RunEnd, ...] | None = None
    problem: Problem | None = None
    not_released: ReleaseFailed | None = None
    suspended: BaseException | None = None
    stopped: bool = False
    """Whether it was asked to stop before it was suspended."""


@dataclass
class LiveCells:
    """The stations of cells in this process. `over` is called when a cell is settled, so that the
    next one may begin; `waits`: whether this process waits for stores and hosts (RetryPolicy)."""

    session: Session
    stop: Stop
    watcher: Watcher
    over: Callable[[TrialEnding], None]
    waits: bool = True
    too_long: dict[str, Problem] = field(default_factory=dict)
    """The problem to record for each trial that was stopped because it took too long."""
    plans: dict[str, Plan] = field(default_factory=dict)
    """The plans that do not change any more and are evidence, by trial."""
    _drafts: dict[str, Plan] = field(default_factory=dict)
    """The drafts that this process opened and does not rent yet."""

    @property
    def retry(self) -> RetryPolicy:
        """What this process does after an error that is not a result."""
        return RetryPolicy(self.stop, self.noted, waits=self.waits)

    @cached_property
    def trials(self) -> LiveTrialSteps:
        """The stations of their trials."""
        return LiveTrialSteps(self.session, self.stop, self.watcher, self.retry)

    def plan(self, trial_id: str) -> Plan:
        """The plan of a trial, read once where it does not change any more. Raises UnknownName."""
        plan = self.plans.get(trial_id) or load_plan(self.session.database, trial_id)
        if not plan.is_draft:
            self.plans[trial_id] = plan
        return plan

    def open(self, trial_id: str) -> Outcome:
        """Plan the trial, and write its lease and its rows; this process owns the cell."""
        return self.retry.through(trial_id, lambda: self._open(trial_id), failed)

    def rent(self, trial_id: str) -> Outcome:
        """Acquire the machine; what was made where that fails is released by `settle`."""
        return self.retry.through(trial_id, lambda: self._rent(trial_id), failed)

    def settle(
        self, trial_id: str, end: tuple[RunEnd, ...] | None, problem: Problem | None
    ) -> None:
        """Release everything, and write into the cell's row how it ended or when it is retried."""
        ending = TrialEnding(trial_id, end, problem)
        try:
            ending = self.retry.through(
                trial_id,
                lambda: self._settle(ending),
                lambda fault: self._unsettled(ending, fault.message),
            )
        except Suspended as suspended:
            self.over(self._unsettled(ending, str(suspended)))
            raise
        if self.waits:  # a worker lives long
            self.stop.forget(trial_id)
            self.plans.pop(trial_id, None)
        self.over(ending)

    def _unsettled(self, ending: TrialEnding, why: str) -> TrialEnding:
        """The ending of a cell whose release could not be tried."""
        self.watcher.note(ending.trial_id, why)
        plan = self.plans.get(ending.trial_id)
        left = plan.target.state_dir if plan else ending.trial_id
        advice = f"diskbench gc {ending.trial_id}"
        error = ReleaseFailed(f"not given back: {left}: {why}", advice=advice)
        return replace(ending, not_released=error)

    def _open(self, trial_id: str) -> Outcome:
        database, me = self.session.database, self.session.executor_id
        row = cell_of_trial(database, trial_id)
        if row is None or row.state not in LIVE or row.owner != me:
            return failed(Problem(kind="Cancelled", message="it is not a cell of this process"))
        if trial_id in asked_to_stop(database, me):  # before the poller saw it
            self.stop.ask(trial_id)
        plan = self.plans.get(trial_id) or find_plan(database, trial_id)
        if (plan is None or plan.is_draft) and self.stop.of(trial_id).is_set():
            return Outcome(state="stopped", problem=BY_USER)
        if plan is None:
            try:
                plan = plan_cell(self.session, row)
            except StoreUnavailable:
                raise
            except DiskbenchError as error:
                return failed(problem_of(error))
        update_cell(
            database,
            trial_id,
            states={"queued", "renting"},
            state="renting" if plan.is_draft else "measuring",
            started_at=row.started_at or present(),
            expected_s=plan.expected_s + renting_s(plan),
            hourly_usd=plan.rental.hourly_usd if plan.rental else None,
        )
        if plan.is_draft:
            self._drafts[trial_id] = plan
        return Outcome(state="done")

    def _rent(self, trial_id: str) -> Outcome:
        # A draft is taken once: a second try of the renting reads what the first one left.
        plan = self.plans.get(trial_id) or self._drafts.pop(trial_id, None)
        if plan is None:
            plan = load_plan(self.session.database, trial_id)
            if not plan.is_draft:  # the process that wrote it may have died before it was evidence
                write_plan(self.session.evidence_of(trial_id), plan)
        if not plan.is_draft:
            self.plans[trial_id] = plan
            self.watcher.measuring(plan)
            return Outcome(state="done")
        asked = self.stop.of(trial_id)
        if asked.is_set():
            return Outcome(state="stopped", problem=BY_USER)
        try:
            plan = rent(self.session, plan, asked, partial(self.noted, trial_id))
        except StoreUnavailable:
            raise  # the caller waits for the store and calls again; the machine is found by name
        except Exception as error:  # noqa: BLE001 - whatever it is, what was rented must go back
            problem = problem_of(error)
            return Outcome(state="stopped" if problem.is_stop else "failed", problem=problem)
        self.plans[trial_id] = plan
        update_cell(self.session.database, trial_id, states=LIVE, state="measuring", note=None)
        self.watcher.measuring(plan)
        return Outcome(state="done")

    def _settle(self, ending: TrialEnding) -> TrialEnding:
        database, trial_id = self.session.database, ending.trial_id
        row = cell_of_trial(database, trial_id)
        if row is None or row.state not in LIVE or row.owner != self.session.executor_id:
            return ending
        plan = self.plans.get(trial_id) or find_plan(database, trial_id)
        campaign = load_campaign(database, row.campaign_id)
        goes_on = campaign.state == "running" and not self.stop.all_asked
        if plan is not None:
            if plan.is_draft:
                write_plan(self.session.evidence_of(trial_id), plan)
            handed_on = goes_on and _is_done(ending.end)
            asked = self.stop.of(trial_id)
            note = partial(self.watcher.note, trial_id)
            # A cloud may answer no more for a machine that is gone; one look costs a moment.
            lacks = keep_metrics(self.session, plan, asked.is_set, note, waits=False)
            left = self._given_back(plan, handed_on=handed_on, keeps=campaign.is_run)
            ending = replace(ending, not_released=left)
            if lacks:  # a machine that is handed on is being paid for
                keep_metrics(self.session, plan, asked.is_set, note, waits=not handed_on)
            # The unfinished runs of a workflow that broke, or never began its runs.
            reason = ending.problem or _NOT_KEPT
            was_unfinished = end_unfinished(self.session, plan, reason, reason.run_state)
            if was_unfinished and _is_done(ending.end):
                ending = replace(ending, end=None, problem=_NOT_KEPT)
        if campaign.is_run:  # the command that waits for it judges it
            end_run_cell(database, trial_id)
        else:
            results = load_results(database, *plan.run_ids) if plan is not None else {}
            judge_trial(self.session, trial_id, results)
            self._save_ending(row, campaign, ending, (plan, results))
        return ending

    def _save_ending(
        self,
        row: CellRow,
        campaign: CampaignRow,
        ending: TrialEnding,
        measured: tuple[Plan | None, Mapping[str, Sequence[StepResult]]],
    ) -> None:
        """Write into the row of a matrix's cell how it ended, or when it is tried again. `measured`
        is its plan, with the results of its runs."""
        database, trial_id = self.session.database, ending.trial_id
        problem = self.too_long.pop(trial_id, ending.problem)
        lease, now = load_lease(database, trial_id), database_time(database)
        moment = iso(now)
        values = after(row, campaign.limits, ending.end, problem, state=campaign.state, now=moment)
        over = values["state"] != "waiting"
        # A cell that was opened is no longer queued: renting was begun, by whichever process.
        spent = _spent_on(lease, *measured, now=now) if row.state != "queued" else 0.0
        columns = {
            **values,
            "note": ending.not_released.message if ending.not_released else None,
            "owner": None,
            "cost_usd": spent if over else row.cost_usd,
            "finished_at": moment if over else None,
        }
        # Evidence first: once the row of the last cell says that it ended, the process may exit.
        keep_trial_rows(self.session, trial_id, row.model_copy(update=columns), lease)
        update_cell(database, trial_id, states=LIVE, **columns)
        context = {"trial": trial_id, "error": values["error"]}
        log.info("%s: %s", row.key, values["state"], extra={k: v for k, v in context.items() if v})

    def _given_back(self, plan: Plan, *, handed_on: bool, keeps: bool) -> ReleaseFailed | None:
        """Release the machine, or hand a shared one on to the next cell. Returns the error of a
        failed release (the next sweep then retries it), or None."""
        lease = load_lease(self.session.database, plan.trial_id)
        is_kept = False
        try:
            is_kept = handed_on and plan.machine is not None and keeps_machine(self.session, plan)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - a provider's fault must not keep the cell
            log.warning("the machine is not handed on: %s", error, extra={"trial": plan.trial_id})
        is_open = lease is None or lease.state == "open" or plan.machine is not None
        if is_kept or not is_open:
            end_hold(self.session, plan, keeps=keeps)
            return None
        return hand_back(self.session, plan, keeps=keeps)

    def noted(self, trial_id: str, text: str) -> None:
        """Store a note on a cell for `matrix status`, and pass it to the watcher; an empty text
        removes the note."""
        if text:
            self.watcher.note(trial_id, text)
        with contextlib.suppress(StoreUnavailable):  # the note may be about this very fault
            update_cell(self.session.database, trial_id, states=LIVE, note=text or None)


def _is_done(end: tuple[RunEnd, ...] | None) -> bool:
    """Whether every run ended well."""
    return end is not None and {run.state for run in end} == {"done"}


def _spent_on(
    lease: Lease | None,
    plan: Plan | None,
    results: Mapping[str, Sequence[StepResult]],
    *,
    now: datetime,
) -> float:
    """The known cost of one trial in US dollars until `now`, transactions included."""
    if lease is None or plan is None or plan.rental is None:
        return 0.0
    rows = [row for run in results.values() for step in run for row in step.measurements]
    return cost_of(plan.rental, lease.age_s(now), done_work(rows)).known_usd


def plan_cell(session: Session, row: CellRow) -> Plan:
    """Plan the cell and write its rows; the plan is a draft where a machine is rented. Raises
    DiskbenchError."""
    assert row.trial_id is not None
    profile, books = find_profile(row.cell.profile), session.books
    names = TrialIds(row.campaign_id, row.trial_id, run_ids(row.trial_id, row.cell.runs))
    renter = session.providers.renter(row.cell.provider)
    if renter is None:
        host = host_at(row.cell.address or "")
        plan = plan_on_host(
            host, row.cell, profile, names, books, install_fio=False, parse_once=session.parse_once
        )
        try:
            at_work = [
                find_plan(session.database, cell.trial_id)
                for cell in live_cells(session.database)
                if cell.campaign_id == row.campaign_id
                and cell.trial_id is not None
                and cell.trial_id != row.trial_id
            ]
            others = [other for other in at_work if other is not None]
            plan, *_ = without_canary_of_others([queued_behind(plan, others), *others])
        except DiskbenchError:
            host.close()
            raise
        session.hosts[plan.trial_id] = host
    else:
        check_rentable(renter, row.cell, profile)

        def draft_in(zone: str | None) -> Plan:
            cell = row.cell
            if zone is not None and cell.rent is not None:
                rent_there = cell.rent.model_copy(update={"zone": zone})
                cell = cell.model_copy(update={"rent": rent_there})
            return draft_of(cell, profile, renter.resolve(cell, books), names, books)

        zone = zone_of(row)
        shares = row.machine is not None
        plan = placed(session, row, draft_in, zone) if shares else draft_in(zone)
    save(session, [plan], owner=session.executor_id)
    return plan


def run_ids(trial_id: str, count: int) -> tuple[str, ...]:
    """The ids of a trial's runs: the same in every process that opens it, sorted in the order of
    the runs, with the time of the trial's id (a ULID has 48 bits of time and 80 random bits)."""
    time_of = ULID.from_str(trial_id.upper()).bytes[:6]
    chance = int.from_bytes(hashlib.sha256(trial_id.encode()).digest()[:9], "big") << 8
    return tuple(
        str(ULID(time_of + (chance + n).to_bytes(10, "big"))).lower() for n in range(count)
    )
