import pytest
import sqlalchemy as sa
from tests.rigs.began import begin_run
from tests.rigs.plans import make_plan, save_plan
from tests.rigs.runs import a_result, a_row

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.ids import short
from diskbench.model.run import run_columns
from diskbench.store import query as queries
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.query import find_measurements, find_run, find_runs
from diskbench.store.step_rows import save_step
from diskbench.store.upsert import upsert
from diskbench.store.where import filter_fields, parse_filter

A, B, C = "01kq8z6rj0aaaaaaaaaaaaaaa1", "01kq8z6rj0aaaaaaaaaaaaaab2", "01kr8z6rj0aaaaaaaaaaaaaaa3"


@pytest.fixture
def three(any_database):
    for run_id, profile, labels, iops in (
        (A, "quick", (("team", "storage"), ("a.b", "1")), 100.0),
        (B, "oltp", (("team", "db"),), 3000.5),
        (C, "100%_odd", (), None),
    ):
        save_plan(any_database, make_plan((run_id,), labels=labels, profile=profile), "file:///e")
        if iops:
            save_step(any_database, run_id, a_result(a_row(run_id, iops)))
    begin_run(any_database, B)
    return any_database


def ids(database, *filters):
    return [run.run_id for run in find_runs(database, [parse_filter(f) for f in filters])]


def test_runs_come_newest_first_by_day_or_name_and_measurements_carry_their_columns(three):
    assert ids(three) == [C, B, A]
    assert [run.run_id for run in find_runs(three, limit=2)] == [C, B]
    assert queries.count_runs(three) == 3
    day = find_run(three, C).created_at[:10]
    assert ids(three, f"created_at={day}") == [C]
    assert ids(three, f"created_at<={day}") == [C, B, A]
    assert ids(three, f"created_at>{day}") == []
    assert ids(three, f"created_at!={day}") == [B, A]
    [row] = find_measurements(three, [parse_filter("iops>3000")])
    assert (row.run_id, row.run.profile, row.iops, row.job_error) == (B, "oltp", 3000.5, 0)
    assert len(find_measurements(three)) == 2
    assert [run.run_id for run in find_runs(three, run_ids=[A, B])] == [B, A]
    assert find_runs(three, [parse_filter("profile=quick")], run_ids=[B]) == []
    assert [row.run_id for row in find_measurements(three, run_ids=[A])] == [A]
    assert find_measurements(three, run_ids=[]) == []


MET = {
    (A,): f"profile=quick; label.team=storage; label.a.b=1; label.team~STOR; iops<=100; run_id={A}",
    (B,): "profile ~ LT; state=running; iops>3000; block_bytes=4096 & profile=oltp",
    (C,): "profile~%_; label.team=; created_at>=2026-05-01",
    (C, A): "started_at=",
    (C, B): "profile!=quick; label.team!=storage",
    (B, A): "label.team!=",
    (C, B, A): "set.runtime=1; memory_bytes>=4294967296 & cpu_count<3; imported=false",
    (): "memory_bytes>4294967296; imported=yes; created_at<2000-01-01; created_at>1s",
}


@pytest.mark.parametrize(("found", "filters"), MET.items(), ids=MET.values())
def test_a_filter_is_met_by_the_right_runs(three, filters, found):
    for together in filters.split("; "):
        assert ids(three, *together.split(" & ")) == list(found), together


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("profile", "KEY=VALUE"),
        ("=x", "KEY=VALUE"),
        ("iops>many", "is not a number"),
        ("cpu_count=2.5", "is not a whole number"),
        ("imported=maybe", "is not true or false"),
        ("created_at>soon", "is not a time"),
        ("iops>", "has no value"),
        ("label.team>3", "is text"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(text, told):
    with pytest.raises(InvalidValue, match=told):
        parse_filter(text)


@pytest.mark.parametrize("field", ["profil", "labels", "plan", "team"])
def test_a_field_that_no_row_has_is_named_with_its_neighbours(field):
    with pytest.raises(UnknownName, match=f"'{field}' is not a valid key of a selection") as caught:
        parse_filter(f"{field}=x")
    assert "keys: disk, size" in caught.value.advice


@pytest.mark.slow
def test_every_field_that_is_offered_can_be_filtered_by(three):
    for field in filter_fields():
        find_runs(three, [parse_filter(f"{field.replace('KEY', 'k')}=")])


def test_a_run_is_found_by_the_beginning_of_its_id_or_as_the_last_and_several_are_listed(three):
    assert find_run(three, A).run_id == A
    assert find_run(three, A[:-2].upper() + "A1").run_id == A
    assert find_run(three, "01kr").run_id == C
    assert find_run(three, short(C)).run_id == C
    assert find_run(three, "last").run_id == C
    assert find_run(three, "LAST~1").run_id == B
    assert find_run(three, "last~2").run_id == A
    with pytest.raises(UnknownName, match="only 3 trials stored"):
        find_run(three, "last~3")
    with pytest.raises(InvalidValue, match=f"(?s)matches several:.*{A}  run.*{B}  run"):
        find_run(three, "01kq")


@pytest.mark.parametrize("run_id", ["nothing", "%", "_" * 26, "", " ", "\t\n"])
def test_an_id_that_no_run_has_is_told(three, run_id):
    kind, words = (UnknownName, "unknown run") if run_id.strip() else (InvalidValue, "is empty")
    with pytest.raises(kind, match=words):
        find_run(three, run_id)


BY_INDEX = {
    queries.newest_first: "measured_at_created_at_run_id",
    queries.last_stored_first: "created_at_measured_at_run_id",
}


@pytest.mark.parametrize(("order", "index"), BY_INDEX.items())
def test_the_newest_runs_are_listed_through_an_index(database, order, index):
    with transaction(database) as connection:
        query = sa.select(schema.run).order_by(*order())
        text = str(query.limit(50).compile(compile_kwargs={"literal_binds": True}))
        steps = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}")]
    assert any(f"ix_diskbench_run_{index}" in step for step in steps)
    assert not any("TEMP B-TREE" in step for step in steps)


@pytest.mark.slow
def test_many_runs_are_listed_without_a_query_a_run(database):
    save_plan(database, make_plan((A,)), "file:///e")
    template = run_columns(find_run(database, A))
    rows = [template | {"run_id": f"{A[:-5]}{i:05d}", "run_index": i} for i in range(500)]
    statements = []
    with transaction(database) as connection:
        upsert(connection, schema.run, rows)
    sa.event.listen(database, "before_cursor_execute", lambda *a: statements.append(a[2]))
    assert len(find_runs(database, [parse_filter("label.team=storage")])) == 501
    assert len(statements) == 1
