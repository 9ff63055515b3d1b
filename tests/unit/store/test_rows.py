"""Every write twice: on SQLite and on PostgreSQL alike."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable
from tests.rigs.database import dump
from tests.rigs.plans import CAMPAIGN_ID, RUN_IDS, TRIAL_ID, make_plan, save_plan
from tests.rigs.runs import a_result, a_row, a_run

from diskbench.errors import UnknownName
from diskbench.model.outcome import Problem
from diskbench.model.result import (
    Measurement,
    StepResult,
    Warning,  # noqa: A004 - the noun
)
from diskbench.model.run import MEASURED_FIELDS, RUN_FIELDS, run_columns
from diskbench.store import campaigns, executors, leases, rows, schema, step_rows
from diskbench.store.campaigns import asked_to_stop, list_campaigns, update_cell
from diskbench.store.dialects import now, ulid_time
from diskbench.store.executors import Executor
from diskbench.store.leases import Lease
from diskbench.store.query import find_runs, runs_by_id
from diskbench.store.result_tables import PREFIX, metadata
from diskbench.store.run_row import run_row
from diskbench.store.schema_revision import HEAD, VERSION_TABLE

FINISHED = "2026-11-21T10:00:05.000000+00:00"


def result(index=0, *, iops=100.0, jobs=("a", "b")):
    counted = {"step_index": index, "ios": 10**12, "bytes": 2**50, "runtime_ns": 86_400 * 10**9}
    counted |= {"lat_max_ns": 2**40, "quantiles_of": "lat"}
    of_jobs = ({"scope": "job", "job": job, "job_index": at} for at, job in enumerate(jobs))
    warning = Warning(code="too-short", message="m", advice="a", step="read")
    rows = [a_row(RUN_IDS[0], iops, **counted, **job) for job in (*of_jobs, {})]
    return a_result(*rows, warnings=(warning,))


@pytest.fixture
def saved(any_database):
    save_plan(any_database, make_plan(), "file:///e")
    return any_database


def test_a_plan_comes_back_as_it_was_and_saved_twice_changes_nothing_even_when_it_began(saved):
    assert rows.load_plan(saved, TRIAL_ID) == make_plan()
    with pytest.raises(UnknownName, match="trial 'none'"):
        rows.load_plan(saved, "none")
    rows.begin_run(saved, RUN_IDS[0])
    step_rows.save_step(saved, RUN_IDS[0], result())
    before = dump(saved)
    save_plan(saved, make_plan(), "file:///elsewhere")
    assert dump(saved) == before


def test_a_run_begins_once(saved):
    rows.begin_run(saved, RUN_IDS[0])
    first = runs_by_id(saved, RUN_IDS)[RUN_IDS[0]]
    rows.begin_run(saved, RUN_IDS[0])
    assert runs_by_id(saved, RUN_IDS)[RUN_IDS[0]] == first
    assert (first.state, first.started_at is not None) == ("running", True)
    assert runs_by_id(saved, RUN_IDS)[RUN_IDS[1]].state == "planned"


def test_runs_are_in_order_of_when_they_began_not_of_when_they_were_planned(saved):
    for run_id in reversed(RUN_IDS):
        rows.begin_run(saved, run_id)
        rows.end_run(
            saved, run_id, "done", None,
            started_at=runs_by_id(saved, RUN_IDS)[run_id].started_at, finished_at=FINISHED,
        )  # fmt: skip
    assert [run.run_id for run in find_runs(saved)] == list(RUN_IDS), "the last that began is first"
    assert all(run.when == run.started_at for run in find_runs(saved))


def test_a_step_saved_twice_is_there_once_and_with_fewer_rows_has_none_of_the_old_ones(saved):
    step_rows.save_step(saved, RUN_IDS[0], result())
    before = dump(saved)
    step_rows.save_step(saved, RUN_IDS[0], result())
    assert dump(saved) == before
    assert step_rows.load_results(saved, RUN_IDS[0]) == {RUN_IDS[0]: (result(),)}
    step_rows.save_step(saved, RUN_IDS[0], result(iops=7.5, jobs=("a",)))
    assert step_rows.load_results(saved, RUN_IDS[0])[RUN_IDS[0]] == (result(iops=7.5, jobs=("a",)),)


def test_results_of_many_runs_are_read_at_once(saved):
    step_rows.save_step(saved, RUN_IDS[0], result(1))
    step_rows.save_step(saved, RUN_IDS[0], result(0))
    found = step_rows.load_results(saved, *RUN_IDS)
    assert [step.step_index for step in found[RUN_IDS[0]]] == [0, 1]
    assert found[RUN_IDS[1]] == ()


def test_a_run_ends_the_same_twice(saved):
    problem = Problem(kind="FioFailed", message="no", advice="look")
    for _ in range(2):
        rows.end_run(saved, RUN_IDS[0], "failed", problem, started_at=None, finished_at=FINISHED)
    assert rows.unfinished_runs(saved, TRIAL_ID) == RUN_IDS[1:]
    found = runs_by_id(saved, RUN_IDS)[RUN_IDS[0]]
    told = (found.state, found.error_kind, found.error, found.advice)
    assert told == ("failed", "FioFailed", "no", "look")


def test_deleting_the_last_run_deletes_trial_and_campaign(saved):
    step_rows.save_step(saved, RUN_IDS[0], result())
    assert rows.delete_runs(saved, RUN_IDS[:1]) == 1
    assert [row["trial_id"] for row in dump(saved)["diskbench_trial"]] == [TRIAL_ID]
    assert rows.delete_runs(saved, RUN_IDS) == 1
    assert rows.delete_runs(saved, RUN_IDS) == 0
    assert {name: found for name, found in dump(saved).items() if found} == {}


def test_times_of_ids_are_those_in_them():
    assert ulid_time(CAMPAIGN_ID).startswith("20")
    assert ulid_time("not a ulid") is None


def test_one_of_many_claimants_wins(saved):
    owners = [f"executor-{i}" for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        won = pool.map(
            lambda one: campaigns.claim_cell(saved, TRIAL_ID, owner=one, previous=None), owners
        )
    [winner] = [owner for owner, has_it in zip(owners, won, strict=True) if has_it]
    [cell] = campaigns.run_cells(saved)
    assert cell.owner == winner


def test_the_matrix_of_a_run_is_nobodys_and_a_claim_is_taken_from_the_one_it_was_seen_with(saved):
    assert campaigns.claim_cell(saved, TRIAL_ID, owner="a", previous=None)
    assert campaigns.claim_cell(saved, TRIAL_ID, owner="a", previous=None)
    assert not campaigns.claim_cell(saved, TRIAL_ID, owner="b", previous=None)
    assert campaigns.claim_cell(saved, TRIAL_ID, owner="b", previous="a")
    assert not campaigns.claim_cell(saved, TRIAL_ID, owner="c", previous="a")
    assert [cell.trial_id for cell in campaigns.run_cells(saved)] == [TRIAL_ID]
    assert list_campaigns(saved) == []
    assert campaigns.unfinished_cells(saved) == []
    assert campaigns.matrix_cell_of_trial(saved, TRIAL_ID) is None


def test_a_settled_run_cannot_be_claimed_and_leaves_no_matrix(saved):
    for run_id in RUN_IDS:
        rows.end_run(saved, run_id, "done", None, started_at=None, finished_at=FINISHED)
    assert not rows.unfinished_runs(saved, TRIAL_ID)
    assert campaigns.claim_cell(saved, TRIAL_ID, owner="a", previous=None), "until it is given back"
    campaigns.end_run_cell(saved, TRIAL_ID)
    assert not campaigns.claim_cell(saved, TRIAL_ID, owner="a", previous="a")
    assert not update_cell(saved, TRIAL_ID, cancel=True)
    with saved.connect() as connection:
        assert connection.execute(sa.select(schema.matrix)).first() is None


def test_a_wish_to_stop_is_seen_by_whoever_runs_the_trial(saved):
    assert campaigns.claim_cell(saved, TRIAL_ID, owner="a", previous=None)
    assert not asked_to_stop(saved, "a")
    for _ in range(2):
        assert update_cell(saved, TRIAL_ID, cancel=True)
    assert asked_to_stop(saved, "a") == {TRIAL_ID}
    assert not asked_to_stop(saved, "b")


def test_progress_is_one_row_that_goes_with_the_end(saved):
    for elapsed in (1.0, 2.0):
        tick = {"elapsed_s": elapsed}
        rows.save_progress(saved, RUN_IDS[0], step_index=0, step="read", tick=tick)
    assert rows.progress_of_trials(saved, [TRIAL_ID])[TRIAL_ID][:2] == ("read", {"elapsed_s": 2.0})
    rows.end_run(saved, RUN_IDS[0], "done", None, started_at=None, finished_at=FINISHED)
    assert rows.progress_of_trials(saved, [TRIAL_ID]) == {}


def test_an_executor_beats_until_it_is_removed(saved):
    for _ in range(2):
        executors.register_executor(saved, "e1", hostname="h", pid=7, process_started="123")
    [registered] = executors.list_executors(saved)
    assert executors.beat(saved, "e1")
    [beaten] = executors.list_executors(saved)
    assert beaten.beat_at >= registered.beat_at
    executors.remove_executor(saved, "e1")
    assert not executors.beat(saved, "e1")


def test_an_executor_is_as_silent_as_the_database_says(any_database):
    executors.register_executor(any_database, "e1", hostname="h", pid=7, process_started="123")
    executors.describe_executor(any_database, "e1", beat_at="2026-01-01T00:00:00.000000+00:00")
    [silent] = executors.list_executors(any_database)
    gone = (datetime.now(UTC) - datetime(2026, 1, 1, tzinfo=UTC)).total_seconds()
    assert silent.silent_s() == pytest.approx(gone, abs=60)
    executors.beat(any_database, "e1")
    [beaten] = executors.list_executors(any_database)
    assert 0 <= beaten.silent_s() < 60


def test_a_lease_lives_from_open_to_released(any_database):
    lease = leases.Lease(
        lease_id=TRIAL_ID, provider="ssh", address="root@db1", run_ids=RUN_IDS, hourly_usd=0.25,
        target={"state_dir": "/var/tmp/x"}, created_at=now(),
    )  # fmt: skip
    for _ in range(2):
        leases.create_lease(any_database, lease)
    assert leases.list_leases(any_database, state="open") == [lease]
    leases.extend_lease(any_database, TRIAL_ID, FINISHED)
    leases.note_lease_error(any_database, TRIAL_ID, "host is away")
    noted = leases.load_lease(any_database, TRIAL_ID)
    assert (noted.expires_at, noted.error, noted.state) == (FINISHED, "host is away", "open")
    leases.release_lease(any_database, TRIAL_ID)
    released = leases.load_lease(any_database, TRIAL_ID)
    leases.release_lease(any_database, TRIAL_ID)
    leases.create_lease(any_database, lease)
    assert leases.load_lease(any_database, TRIAL_ID) == released
    assert (released.state, released.error) == ("released", None)
    assert leases.list_leases(any_database, state="open") == []


def test_writers_in_many_threads_do_not_lose_rows(saved):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: step_rows.save_step(saved, RUN_IDS[0], result(n)), range(8)))
    with saved.connect() as connection:
        count = connection.execute(sa.select(sa.func.count()).select_from(schema.measurement))
        assert count.scalar() == 24


def test_a_host_that_is_saved_again_or_later_keeps_the_places_of_the_others(any_database):
    plans = [make_plan((f"{n:026}",)) for n in range(3)]
    rows.save_plans(any_database, plans[:2], "file:///e", owner="me")
    rows.save_plans(any_database, plans, "file:///e", owner="another")
    places = {one.trial_id: (one.position, one.owner) for one in campaigns.run_cells(any_database)}
    names = [plan.trial_id for plan in plans]
    assert places == dict(zip(names, [(0, "me"), (1, "me"), (2, "another")], strict=True))


def test_the_time_of_a_trial_is_kept_in_its_order_and_whoever_goes_on_with_it_adds_to_it(saved):
    assert rows.load_timing(saved, TRIAL_ID) == {}
    rows.add_timing(saved, TRIAL_ID, {"rent": 40.0, "fio itself": 30.0})
    rows.add_timing(saved, TRIAL_ID, {"fio itself": 2.0, "release": 5.0})
    found = [("rent", 40.0), ("fio itself", 32.0), ("release", 5.0)]
    assert list(rows.load_timing(saved, TRIAL_ID).items()) == found


DIGESTS = {"0001": "27bc739fa0202f5e1c6133410b5d2aa3d90b4fbdca64040bb5a0d0a0b0d3af05"}
"""The revision → the digest of its tables and indexes."""


@pytest.mark.parametrize(
    ("fields", "table"),
    [
        ({*Measurement.model_fields, "position"}, schema.measurement),
        ({*Warning.model_fields, "run_id", "step_index", "position"}, schema.warning),
        ({*Lease.model_fields}, schema.lease),
        ({*StepResult.model_fields, "run_id"} - {"measurements", "warnings"}, schema.step),
        ({*Executor.__dataclass_fields__} - {"seen_at"}, schema.executor),
        ({*run_row(make_plan(), 0, "file:///e")}, schema.run),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_noun_and_its_table_have_the_same_fields(fields, table):
    assert fields == set(table.c.keys())


def test_every_table_of_ours_is_told_from_those_of_dbos():
    assert all(name.startswith(PREFIX) for name in metadata.tables)
    assert VERSION_TABLE.startswith(PREFIX)


def test_a_changed_table_or_index_has_a_new_revision():
    tables = metadata.sorted_tables
    made = [CreateTable(table) for table in tables]
    made += [
        CreateIndex(i) for table in tables for i in sorted(table.indexes, key=lambda i: i.name)
    ]
    ddl = "".join(str(one.compile(dialect=postgresql.dialect())) for one in made)
    assert hashlib.sha256(ddl.encode()).hexdigest() == DIGESTS[HEAD], (
        "From the first tag on databases that have a revision stay as they are: give the change a "
        "new revision (store/schema_revision.py). Before the first tag: write the new digest here"
    )


# Rows that leave the database are frozen types, one a table, with the columns of it.


def test_a_run_and_a_measured_row_have_the_columns_of_their_table_and_nobody_changes_a_run():
    assert tuple(schema.run.c.keys()) == RUN_FIELDS
    assert list(run_columns(a_run())) == list(RUN_FIELDS)
    own = [c.name for c in schema.measurement.c if c.name not in (*RUN_FIELDS, "position")]
    assert [*own, "job_error"] == list(MEASURED_FIELDS)
    with pytest.raises(FrozenInstanceError):
        a_run().state = "done"
