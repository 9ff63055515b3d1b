"""Write the rows of trials: plan, begin, progress and end of runs, and where the time of a trial
went; those of steps are in step_rows.py. Every function but `add_timing` is idempotent, runs in one
transaction, and raises StoreUnavailable when the database fails."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy.engine import Connection, Engine

from diskbench.errors import StoreUnavailable, UnknownName
from diskbench.model.campaign import CellRow
from diskbench.model.outcome import Problem
from diskbench.model.result import FINAL_STATES, RunState
from diskbench.model.spec import Plan, Search
from diskbench.model.value_fault import value_faults
from diskbench.store import schema
from diskbench.store.campaigns import RUN, is_of_matrix
from diskbench.store.database import change, fetch, one_statement, transaction
from diskbench.store.dialects import insert_missing, now, present, upsert
from diskbench.store.evidence_place import directory_of_engine, kept_url, whole_url
from diskbench.store.leases import Lease, insert_leases
from diskbench.store.query import chunks, rows_among
from diskbench.store.run_row import run_row, trial_row


def save_plans(
    database: Engine,
    plans: Sequence[Plan],
    evidence_url: str,
    *,
    owner: str | None = None,
    leases: Sequence[Lease] = (),
) -> None:
    """Write leases, trials and their runs as planned, before anything is made on a host; and the
    cells of trials that belong to no matrix. All are written in one transaction, by as many
    statements as for one trial.

    `evidence_url` is the store's printable URL. The cells are `owner`'s from the start: one that is
    nobody's looks abandoned. The leases come with them, all or nothing: one without a run looks
    like one that outlived its trial, and whoever sweeps would give it back.
    """
    evidence_url = kept_url(evidence_url, directory_of_engine(database))
    campaign_ids = list(dict.fromkeys(plan.campaign_id for plan in plans))
    with transaction(database) as connection:
        insert_leases(connection, leases)
        # A matrix has written its cells.
        of_runs = [name for name in campaign_ids if not is_of_matrix(connection, name)]
        insert_missing(connection, schema.trial, [trial_row(plan) for plan in plans])
        rows = [run_row(plan, n, evidence_url) for plan in plans for n in range(len(plan.run_ids))]
        insert_missing(connection, schema.run, rows)
        for campaign_id in of_runs:
            trials = [plan for plan in plans if plan.campaign_id == campaign_id]
            _insert_run_cells(connection, trials, owner)


def _insert_run_cells(connection: Connection, plans: Sequence[Plan], owner: str | None) -> None:
    """Write the cells of the trials of one run, owned by `owner`; does nothing for those that have
    their cell."""
    cell, campaign_id = schema.cell, plans[0].campaign_id
    known = sa.select(cell.c.trial_id, cell.c.position).where(cell.c.campaign_id == campaign_id)
    positions = {row.trial_id: row.position for row in connection.execute(known)}
    new = [plan for plan in plans if plan.trial_id not in positions]
    if not new:
        return
    began = connection.execute(sa.select(present())).scalar_one()
    matrix: dict[str, object] = {"campaign_id": campaign_id, "name": RUN, "kind": RUN}
    matrix |= {"state": "running", "order": "listed", "limits": {}, "spec": {}, "created_at": began}
    insert_missing(connection, schema.matrix, [matrix])
    first = max(positions.values(), default=-1) + 1
    rows = [
        _run_cell(plan, position, owner, began).model_dump(mode="json")
        for position, plan in enumerate(new, first)
    ]
    insert_missing(connection, cell, rows)


def _run_cell(plan: Plan, position: int, owner: str | None, began: str) -> CellRow:
    """The cell of a trial of a run at `position`, which began at `began` (ISO 8601)."""
    name = f"{plan.cell.provider}/{plan.profile.name}"
    return CellRow(
        campaign_id=plan.campaign_id,
        position=position,
        key=f"{name}#{position}",
        block=name,
        route=plan.cell.provider,
        partition=plan.cell.provider,
        cell=plan.cell,
        state="renting" if plan.is_draft else "measuring",
        attempt=1,
        trial_id=plan.trial_id,
        owner=owner,
        queued_at=began,
        started_at=began,
    )


def replace_draft(database: Engine, plan: Plan, evidence_url: str) -> None:
    """Put the plan of a machine that was acquired in the place of its draft."""
    evidence_url = kept_url(evidence_url, directory_of_engine(database))
    with transaction(database) as connection:
        upsert(connection, schema.trial, [trial_row(plan)])
        rows = [run_row(plan, index, evidence_url) for index in range(len(plan.run_ids))]
        upsert(connection, schema.run, rows)


def load_plan(database: Engine, trial_id: str) -> Plan:
    """The plan of a trial as it was saved. Raises UnknownName."""
    plan = find_plan(database, trial_id)
    if plan is None:
        raise UnknownName("trial", trial_id, (), advice="see 'diskbench results list'")
    return plan


def find_plan(database: Engine, trial_id: str) -> Plan | None:
    """The plan of a trial; None for one that is not there, or was imported and has none.

    Raises StoreUnavailable, naming the version, for a plan that another version of diskbench wrote
    and this one cannot read.
    """
    query = sa.select(schema.trial.c.plan).where(schema.trial.c.trial_id == trial_id)
    stored = [plan for (plan,) in fetch(database, query) if plan is not None]
    return _plan(trial_id, stored[0]) if stored else None


def find_plans(database: Engine, trial_ids: Sequence[str]) -> dict[str, Plan]:
    """The plans of trials, by trial, without those that are not there or have none. Raises as
    `find_plan`."""
    trial = schema.trial.c
    query = sa.select(trial.trial_id, trial.plan).where(trial.plan.is_not(None))
    rows = rows_among(database, query, trial.trial_id, trial_ids)
    return {trial_id: _plan(trial_id, stored) for trial_id, stored in rows if stored is not None}


def find_searches(database: Engine, trial_ids: Sequence[str]) -> dict[str, Search]:
    """The searches for a rate that trials make, by trial; reads nothing else of their plans."""
    trial = schema.trial.c
    query = sa.select(trial.trial_id, trial.plan["search"])
    rows = rows_among(database, query, trial.trial_id, trial_ids)
    return {trial_id: Search.model_validate(stored) for trial_id, stored in rows if stored}


def _plan(trial_id: str, stored: object) -> Plan:
    try:
        return Plan.model_validate(stored)
    except ValidationError as error:
        writer = stored.get("diskbench_version") if isinstance(stored, dict) else None
        raise StoreUnavailable(
            f"the plan of trial {trial_id} cannot be read: {value_faults(error, 'plan')}",
            advice=f"diskbench {writer or 'of another version'} wrote it: use that version, or a "
            "newer one",
        ) from error


def evidence_url_of(database: Engine, trial_id: str) -> str | None:
    """The store in which the evidence of a trial's runs lies; None for a trial without runs."""
    run = schema.run
    query = sa.select(run.c.evidence_url).where(run.c.trial_id == trial_id).limit(1)
    urls = [url for (url,) in fetch(database, query) if url is not None]
    return whole_url(urls[0], directory_of_engine(database)) if urls else None


def move_evidence(database: Engine, trial_id: str, evidence_url: str) -> None:
    """Record that the evidence of a trial's runs is now in another store."""
    run, kept = schema.run, kept_url(evidence_url, directory_of_engine(database))
    change(database, sa.update(run).where(run.c.trial_id == trial_id).values(evidence_url=kept))


def begin_run(database: Engine, run_id: str) -> None:
    """Mark a planned run as running, from now on; a run that has begun keeps its time. It is in
    lists by this time, no longer by that of its plan."""
    run, moment = schema.run, now()
    planned = sa.update(run).where(run.c.run_id == run_id, run.c.state == "planned")
    change(database, planned.values(state="running", started_at=moment, measured_at=moment))


def end_run(
    database: Engine,
    run_id: str,
    state: RunState,
    problem: Problem | None,
    *,
    started_at: str | None,
    finished_at: str,
) -> None:
    """The final state of a run. When it is the trial's last, the trial is no longer unfinished."""
    run = schema.run
    times = {"started_at": started_at, "finished_at": finished_at}
    if started_at is not None:
        times["measured_at"] = started_at
    ended = sa.update(run).where(run.c.run_id == run_id).values(**ending(state, problem), **times)
    with transaction(database) as connection:
        connection.execute(ended)
        connection.execute(sa.delete(schema.progress).where(schema.progress.c.run_id == run_id))


def ending(state: RunState, problem: Problem | None) -> dict[str, Any]:
    """The columns of a run with its end state and its error."""
    return {
        "state": state,
        "error_kind": problem.kind if problem else None,
        "error": problem.message if problem else None,
        "advice": (problem.advice or None) if problem else None,
    }


def run_began(database: Engine, run_id: str) -> str | None:
    """When a run began; None for one that has not."""
    run = schema.run
    query = sa.select(run.c.started_at).where(run.c.run_id == run_id)
    return next((began for (began,) in fetch(database, query)), None)


def unfinished_runs(database: Engine, trial_id: str) -> tuple[str, ...]:
    """The runs of a trial that have no final state, in order."""
    run = schema.run
    open_ones = run.c.trial_id == trial_id, run.c.state.not_in(FINAL_STATES)
    query = sa.select(run.c.run_id).where(*open_ones).order_by(run.c.run_index)
    return tuple(run_id for (run_id,) in fetch(database, query))


def unfinished_trials(database: Engine) -> list[str]:
    """The ids of all trials with a run that has no final state, oldest first."""
    run = schema.run.c
    query = sa.select(run.trial_id).where(run.state.not_in(FINAL_STATES)).distinct()
    return [trial_id for (trial_id,) in fetch(database, query.order_by(run.trial_id))]


def delete_runs(database: Engine, run_ids: Sequence[str]) -> int:
    """Delete runs with all their rows, and trials and matrices left empty; returns how many."""
    trials, campaigns = left_empty(database, run_ids)
    run, trial, matrix = schema.run, schema.trial, schema.matrix
    with transaction(database) as connection:
        gone = sum(
            connection.execute(sa.delete(run).where(run.c.run_id.in_(chunk))).rowcount
            for chunk in chunks(run_ids)
        )
        for table, key, names in ((trial, "trial_id", trials), (matrix, "campaign_id", campaigns)):
            for chunk in chunks(names):
                connection.execute(sa.delete(table).where(table.c[key].in_(chunk)))
    return gone


def left_empty(database: Engine, run_ids: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The trials that have no other runs than these, and the campaigns that have no other trials
    than those. A matrix that is not over stays, with all that it has."""
    run, trial, matrix = schema.run, schema.trial, schema.matrix
    with transaction(database) as connection:
        mine, of_trial = set(run_ids), dict[str, set[str]]()
        touched: set[str] = set()
        for chunk in chunks(tuple(run_ids)):
            query = sa.select(run.c.trial_id).where(run.c.run_id.in_(chunk)).distinct()
            touched |= set(connection.execute(query).scalars())
        for chunk in chunks(sorted(touched)):
            every = sa.select(run.c.trial_id, run.c.run_id).where(run.c.trial_id.in_(chunk))
            for trial_id, run_id in connection.execute(every):
                of_trial.setdefault(trial_id, set()).add(run_id)
        trials = {trial_id for trial_id, runs in of_trial.items() if runs <= mine}
        of_campaign: dict[str, set[str]] = {}
        for chunk in chunks(sorted(trials)):
            named = sa.select(trial.c.campaign_id).where(trial.c.trial_id.in_(chunk))
            every = sa.select(trial.c.campaign_id, trial.c.trial_id)
            for campaign_id, trial_id in connection.execute(
                every.where(trial.c.campaign_id.in_(named))
            ):
                of_campaign.setdefault(campaign_id, set()).add(trial_id)
        matrices = sa.select(matrix.c.campaign_id).where(matrix.c.kind.is_(None))
        live = set(connection.execute(matrices.where(matrix.c.state != "done")).scalars())
    campaigns = {campaign_id for campaign_id, held in of_campaign.items() if held <= trials} - live
    return tuple(sorted(trials)), tuple(sorted(campaigns))


def save_progress(
    database: Engine,
    run_id: str,
    *,
    step_index: int,
    step: str,
    round: int | None = None,  # noqa: A002 - the field's name in every row
    tick: Mapping[str, Any] | None = None,
) -> None:
    """Save how far a run is: the step that runs, and its last second."""
    row = {
        "run_id": run_id,
        "step_index": step_index,
        "step": step,
        "round": round,
        "tick": dict(tick) if tick else None,
        "updated_at": present(),
    }
    with one_statement(database) as connection:
        upsert(connection, schema.progress, [row])


Progress = tuple[str, Mapping[str, Any] | None, str]
"""The step of an unfinished run, fio's last status (None: none yet), and when that was written."""


def progress_of_trials(database: Engine, trial_ids: Sequence[str]) -> dict[str, Progress]:
    """The last known progress of the newest run of each trial that has any."""
    progress, run = schema.progress.c, schema.run.c
    query = sa.select(run.trial_id, progress.step, progress.tick, progress.updated_at)
    query = query.join_from(schema.run, schema.progress, run.run_id == progress.run_id)
    query = query.where(run.trial_id.in_(trial_ids)).order_by(progress.updated_at)
    return {trial_id: (step, tick, at) for trial_id, step, tick, at in fetch(database, query)}


def add_timing(database: Engine, trial_id: str, seconds: Mapping[str, float]) -> None:
    """Add what a process spent on a trial to what others spent on it before."""
    known = load_timing(database, trial_id)
    rows = [
        {
            "trial_id": trial_id,
            "name": name,
            "position": list(known).index(name) if name in known else len(known) + position,
            "seconds": known.get(name, 0.0) + spent,
        }
        for position, (name, spent) in enumerate(seconds.items())
    ]
    with transaction(database) as connection:
        upsert(connection, schema.timing, rows)


def load_timing(database: Engine, trial_id: str) -> dict[str, float]:
    """Wall seconds by name, in the order of the way; empty where none was kept."""
    timing = schema.timing
    query = sa.select(timing.c.name, timing.c.seconds).where(timing.c.trial_id == trial_id)
    return {row.name: row.seconds for row in fetch(database, query.order_by(timing.c.position))}
