"""Which runs, rows and steps are found; and a database that is made again of the evidence."""

import re
from shutil import copytree

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rigs.database import dump
from tests.rigs.measured import begin_run, measure, recorded, stores_in
from tests.rigs.plans import make_plan, save_plan
from tests.rigs.runs import a_result, a_row

from diskbench.errors import EvidenceDamaged, InvalidValue, UnknownName
from diskbench.model.ids import short
from diskbench.model.outcome import Problem
from diskbench.model.run import run_columns
from diskbench.results.selection import selected
from diskbench.store import archive, schema
from diskbench.store import query as queries
from diskbench.store.database import open_database, transaction
from diskbench.store.dialects import upsert
from diskbench.store.evidence import open_evidence
from diskbench.store.evidence_place import directory_of_engine, whole_url
from diskbench.store.finish import finish_run
from diskbench.store.leases import Lease, create_lease
from diskbench.store.query import find_measurements, find_run_ids, find_runs, runs_by_id
from diskbench.store.rebuild import rebuild
from diskbench.store.rows import delete_runs
from diskbench.store.step_rows import save_step
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
    day = runs_by_id(three, [C])[C].created_at[:10]
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


MEANT = {
    A: (A, A[:-2].upper() + "A1", "3", "last~2"),
    B: ("LAST~1", "2", " 2 "),
    C: ("01kr", short(C), "last", "1"),
}


@pytest.mark.parametrize(("run_id", "texts"), MEANT.items())
def test_a_run_is_meant_by_its_id_as_the_last_and_by_its_number_in_the_list(three, run_id, texts):
    for text in texts:
        assert find_run_ids(three, selected(three, text)) == [run_id], text


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("last~3", UnknownName, "only 3 trials stored"),
        ("4", UnknownName, "unknown trial '4'.*only 3 trials stored"),
        (A[:-2], InvalidValue, f"matches several:.*{A}.*{B}"),
        *((text, UnknownName, "unknown run") for text in ("nothing", "%", "_" * 26, "1234567")),
        *((text, InvalidValue, "is empty") for text in ("", " ", "\t\n")),
    ],
)
def test_text_that_means_no_run_or_several_is_refused(three, text, kind, told):
    with pytest.raises(kind) as caught:
        selected(three, text)
    assert re.search(told, f"{caught.value}\n{caught.value.advice}", re.DOTALL)


def test_a_number_that_is_the_name_of_a_matrix_is_refused(three):
    with transaction(three) as connection:
        connection.execute(sa.update(schema.matrix).values(name="2", kind=None))
    with pytest.raises(InvalidValue, match="name of a matrix and a number"):
        selected(three, "2")


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


def test_a_trial_that_is_deleted_between_two_looks_hides_no_other(three, monkeypatch):
    monkeypatch.setattr(queries, "_FIRST_LOOK", 1)
    found = queries.trials_in_order(three)
    assert next(found)[1] == C
    assert delete_runs(three, [C]) == 1
    assert [run_id for _, run_id in found] == [B, A]


@pytest.mark.slow
def test_many_runs_are_listed_without_a_query_a_run(database):
    save_plan(database, make_plan((A,)), "file:///e")
    template = run_columns(runs_by_id(database, [A])[A])
    rows = [template | {"run_id": f"{A[:-5]}{i:05d}", "run_index": i} for i in range(500)]
    statements = []
    with transaction(database) as connection:
        upsert(connection, schema.run, rows)
    sa.event.listen(database, "before_cursor_execute", lambda *a: statements.append(a[2]))
    assert len(find_runs(database, [parse_filter("label.team=storage")])) == 501
    assert len(statements) == 1


STATES = ("done", "failed", "interrupted", "cancelled")
PROBLEM = Problem(kind="FioFailed", message="fio ended with status 1", advice="look")


def record(database, evidence, plan, steps_of_runs, states, fio_files):
    save_plan(database, plan, evidence.url)
    create_lease(database, Lease(lease_id=plan.trial_id, provider="ssh", run_ids=plan.run_ids))
    archive.write_plan(evidence, plan)
    for index, (steps, state) in enumerate(zip(steps_of_runs, states, strict=True)):
        if steps:
            measure(database, evidence, plan, index, fio_files[:steps])
        finish_run(database, evidence, plan, index, state, None if state == "done" else PROBLEM)


@pytest.fixture
def finished(any_database, evidence, fio_files):
    record(any_database, evidence, make_plan(), (2, 1), ("done", "interrupted"), fio_files)
    return any_database


def with_whole_urls(database):
    """All rows, with whole URLs of stores: SQLite's rows name them relative to the file."""
    rows, directory = dump(database), directory_of_engine(database)
    for row in rows["diskbench_run"]:
        row["evidence_url"] = whole_url(row["evidence_url"], directory)
    return rows


def test_rows_rebuilt_into_an_empty_database_and_in_place_are_identical(finished, evidence, other):
    done = rebuild(other, evidence)
    assert with_whole_urls(other) == with_whole_urls(finished)
    assert (len(done.runs), done.unfinished, done.failed) == (2, (), ())
    before = dump(finished)
    for _ in range(2):
        rebuild(finished, evidence)
        assert dump(finished) == before


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    runs=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(STATES)), min_size=1, max_size=3),
    labels=st.dictionaries(
        st.from_regex(r"[a-zA-Z0-9_.-]{1,9}", fullmatch=True),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9),
    ),
    profile=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
)
def test_whatever_ran_rebuilt_rows_are_alike(tmp_path_factory, fio_files, runs, labels, profile):
    place = tmp_path_factory.mktemp("rebuild")
    evidence = open_evidence((place / "evidence").as_uri())
    plan = make_plan(
        tuple(f"01kq8z6rj0aaaaaaaaaaaaaaa{i}" for i in range(len(runs))),
        labels=tuple(sorted(labels.items())),
        profile=profile,
    )
    one, two = (open_database(f"sqlite:///{place}/{name}.db") for name in ("one", "two"))
    # one that is done has all of its steps
    steps, states = zip(*((2 if s == "done" else n, s) for n, s in runs), strict=True)
    record(one, evidence, plan, steps, states, fio_files)
    rebuild(two, evidence)
    assert dump(two) == dump(one)
    one.dispose()
    two.dispose()


def test_unfinished_runs_stay_and_leavings_are_no_rows(database, evidence, plan, fio_files, other):
    recorded(database, evidence, plan, fio_files[:1])
    before = dump(database)
    assert rebuild(database, evidence).unfinished == plan.run_ids
    assert dump(database) == before
    recorded(database, evidence, plan, fio_files[:1])
    step, files = fio_files[1]
    archive.write_step_evidence(
        evidence, plan.run_ids[0], step, {"fio.json": files["fio.json"][:50]},
        started_at="a", finished_at="b", stopped=True,
    )  # fmt: skip
    finish_run(database, evidence, plan, 0, "interrupted", None)
    rebuild(other, evidence)
    assert [row["step"] for row in dump(other)["diskbench_step"]] == ["write"]
    manifest = archive.read_manifest(evidence, plan.run_ids[0])
    assert [(e.step, e.has_rows) for e in manifest.steps] == [("write", True), ("read", False)]


@pytest.fixture(scope="module")
def two_done(tmp_path_factory, fio_files):
    """A folder with two finished runs."""
    place = tmp_path_factory.mktemp("two")
    with stores_in(place) as stores:
        record(*stores, make_plan(), (2, 2), ("done", "done"), fio_files)
    return place


@pytest.mark.parametrize("name", ["fio.json", "step.json", "plan.json", "manifest.json"])
def test_damaged_evidence_is_named_and_others_rebuilt(two_done, plan, tmp_path, name):
    copytree(two_done, tmp_path, dirs_exist_ok=True)
    folder = tmp_path / "evidence" / "runs" / plan.run_ids[0]
    [path, *_] = sorted([*folder.rglob(name), *folder.rglob(f"{name}.zst")])
    path.write_bytes(path.read_bytes()[:-7] + b"garbage")
    with stores_in(tmp_path) as (database, store):
        before = dump(database)
        done = rebuild(database, store)
        assert dump(database) == before
    assert done.runs == plan.run_ids[1:]
    [(run_id, error)] = done.failed
    assert run_id == plan.run_ids[0]
    assert isinstance(error, EvidenceDamaged)
    assert name in str(error)
