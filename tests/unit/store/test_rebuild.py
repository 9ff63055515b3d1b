import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rigs.dump import dump
from tests.rigs.measured import measure, recorded
from tests.rigs.plans import make_plan, save_plan

from diskbench.errors import EvidenceDamaged
from diskbench.model.outcome import Problem
from diskbench.store import archive
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.evidence_place import directory_of_engine, whole_url
from diskbench.store.finish import finish_run
from diskbench.store.leases import Lease, create_lease
from diskbench.store.rebuild import rebuild

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
def test_whatever_was_run_rebuilt_rows_are_alike(
    tmp_path_factory, fio_files, runs, labels, profile
):
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


def test_an_unfinished_run_stays_and_leavings_are_no_rows(
    database, evidence, plan, fio_files, other
):
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


@pytest.mark.parametrize("name", ["fio.json", "step.json", "plan.json", "manifest.json"])
def test_damaged_evidence_is_named_and_others_rebuilt(database, plan, fio_files, tmp_path, name):
    store = open_evidence((tmp_path / "evidence").as_uri())
    record(database, store, plan, (2, 2), ("done", "done"), fio_files)
    folder = tmp_path / "evidence" / "runs" / plan.run_ids[0]
    [path, *_] = sorted([*folder.rglob(name), *folder.rglob(f"{name}.zst")])
    path.write_bytes(path.read_bytes()[:-7] + b"garbage")
    before = dump(database)
    done = rebuild(database, store)
    assert done.runs == plan.run_ids[1:]
    [(run_id, error)] = done.failed
    assert run_id == plan.run_ids[0]
    assert isinstance(error, EvidenceDamaged)
    assert name in str(error)
    assert dump(database) == before
