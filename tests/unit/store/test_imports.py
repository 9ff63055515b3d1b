"""Imports keep the originals and give one run for the same bytes; what one costs grows with its
files and runs, not with their product."""

import os
from collections import Counter

import pytest
from tests.rigs.database import dump, taken_in
from tests.rigs.plans import make_step, run_fio

import diskbench
from diskbench.errors import InvalidValue
from diskbench.store import archive, import_sources, imports
from diskbench.store.dialects import now, ulid_time
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import imported
from diskbench.store.query import find_measurements, find_runs, runs_by_id
from diskbench.store.rebuild import rebuild

pytestmark = pytest.mark.slow

GOBONNIEGO = b"""{"version": "1.0.8", "gobonniego_directory": "/mnt", "num_readers_and_writers": 4,
 "physical_memory_bytes": 8589934592, "results": [
 {"start_time": "2018-02-14T20:14:00.5Z", "write_bytes": 1000000000, "write_seconds": 10.0,
  "read_bytes": 1000000000, "read_seconds": 5.0, "io_operations": 500, "io_seconds": 5.0},
 {"start_time": "2018-02-14T20:16:00Z", "write_bytes": 1000000000, "write_seconds": 20.0,
  "read_bytes": 1000000000, "read_seconds": 5.0, "io_operations": 500, "io_seconds": 5.0}]}"""


def take_in(database, evidence, *paths, labels=()):
    return taken_in(evidence, *paths, database=database, labels=dict(labels))


@pytest.fixture
def fio_json(tmp_path):
    """fio's JSON and logs as somebody else kept them."""
    step = make_step()
    job = step.job.replace("[write]", "write_bw_log=fio\n\n[write]")
    files = run_fio(tmp_path / "theirs", step.model_copy(update={"job": job}))
    (tmp_path / "theirs" / "result.json").write_bytes(files["fio.json"])
    return tmp_path / "theirs" / "result.json"


def test_fio_json_becomes_a_run_kept_to_the_byte_and_twice_is_once(database, evidence, fio_json):
    [run_id] = take_in(database, evidence, fio_json, labels=(("from", "a friend"),))
    run = runs_by_id(database, [run_id])[run_id]
    assert (run.imported, run.unverified, run.state) == (True, True, "done")
    assert (run.profile, run.provider) == ("result.json", "import/fio-json")
    assert run.labels == {"from": "a friend"}
    assert [row.scope for row in find_measurements(database)] == ["job", "step"]
    assert find_measurements(database)[0].ios == 64
    [run_id] = take_in(database, evidence, fio_json)
    before = dump(database)
    assert take_in(database, evidence, fio_json) == [run_id]
    assert dump(database) == before
    name, record = "result.json", archive.read_manifest(evidence, run_id).imported
    kept = archive.read_file(evidence, archive.run_prefix(run_id), name, record.files[name])
    assert kept == fio_json.read_bytes()


def test_logs_beside_a_result_belong_to_it(database, evidence, fio_json, tmp_path):
    logs = sorted(fio_json.parent.glob("*.log"))
    assert logs
    [run_id] = take_in(database, evidence, *logs, fio_json)
    series = diskbench.load_series(run_id, evidence=(tmp_path / "evidence").as_uri())
    assert series["bytes_per_s"].sum() > 0


def test_logs_alone_are_a_run_with_a_series_and_no_rows(database, evidence, fio_json, tmp_path):
    [run_id] = take_in(database, evidence, *fio_json.parent.glob("*.log"))
    assert runs_by_id(database, [run_id])[run_id].provider == "import/fio-log"
    assert find_measurements(database) == []
    assert diskbench.load_series(run_id, evidence=(tmp_path / "evidence").as_uri()).height > 0


def test_logs_without_a_time_have_no_date_and_copied_are_the_same_run(database, evidence, fio_json):
    logs, before = sorted(fio_json.parent.glob("*.log")), now()
    [run_id] = take_in(database, evidence, *logs)
    for log in logs:
        os.utime(log, (1_600_000_000, 1_600_000_000))
    assert take_in(database, evidence, *logs) == [run_id]
    run = runs_by_id(database, [run_id])[run_id]
    assert (run.measured_at, run.started_at, run.finished_at) == (None, None, None)
    assert before <= run.created_at <= now(), "when it was imported"
    assert ulid_time(run_id)[:19] == run.created_at[:19]


def test_each_result_of_gobonniego_is_a_run_of_one_trial(database, evidence, tmp_path):
    (tmp_path / "bonnie.json").write_bytes(GOBONNIEGO)
    run_ids = take_in(database, evidence, tmp_path / "bonnie.json")
    runs = list(reversed(find_runs(database)))
    assert [run.run_id for run in runs] == run_ids
    assert [run.run_index for run in runs] == [0, 1]
    assert {run.trial_id for run in runs} == {run_ids[0]}
    assert runs[0].measured_at == "2018-02-14T20:14:00.500000+00:00"
    assert runs[0].created_at > runs[0].measured_at, "when it was imported"
    assert runs[0].memory_bytes == 8589934592
    rates = [row.bytes_per_s for row in find_measurements(database) if row.step == "seqwrite"]
    assert rates == [1e8, 5e7]


def test_imported_rows_are_rebuilt_alike(database, evidence, other, fio_json, tmp_path):
    (tmp_path / "bonnie.json").write_bytes(GOBONNIEGO)
    take_in(database, evidence, tmp_path / "bonnie.json", fio_json)
    take_in(database, evidence, *fio_json.parent.glob("*.log"))
    assert rebuild(other, evidence).failed == ()
    assert dump(other) == dump(database)


@pytest.mark.parametrize("data", [b"", b"notes", b'{"fio version": "fio-3.33"', None])
def test_a_file_that_is_none_of_these_is_refused_and_nothing_is_kept(evidence, tmp_path, data):
    path = tmp_path / "x.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InvalidValue, match=r"x\.json" if data is not None else "No such file"):
        take_in(None, evidence, path)
    assert evidence.list("runs") == []


LINE = (
    "1.97,1.97,host,1,{seed},8196M,,500,99,85809,11,40000,10,2000,97,150000,12,300.5,10,16,,,,,"
    "2104,15,+++++,+++,3240,16,3052,21,+++++,+++,2891,14,8767us,1945ms,1945ms,10ms,50ms,200ms,"
    "1us,2us,3us,4us,5us,6us\n"
)
RUNS = 30


@pytest.fixture
def files(tmp_path):
    """Two files of undated runs, whose ids depend on those that the store has."""
    for name, first in (("a.csv", 0), ("b.csv", 1000)):
        lines = (LINE.format(seed=first + at) for at in range(RUNS))
        (tmp_path / name).write_text("".join(lines))
    return [tmp_path / "a.csv", tmp_path / "b.csv"]


def counted(monkeypatch, calls, module, name):
    original = getattr(module, name)

    def call(*arguments, **named):
        calls.append(name)
        return original(*arguments, **named)

    monkeypatch.setattr(module, name, call)


def test_a_file_is_parsed_once_and_rows_come_after_evidence(database, evidence, files, monkeypatch):
    calls: list[str] = []
    counted(monkeypatch, calls, import_sources, "read_imported")
    counted(monkeypatch, calls, archive, "list_runs")
    counted(monkeypatch, calls, evidence, "settle")
    counted(monkeypatch, calls, imports, "write_runs")
    done = list(imported(database, evidence, read_sources(files)[0], {}, "0"))
    assert len(done) == 2 * RUNS
    assert Counter(calls) == {"read_imported": 2, "list_runs": 1, "settle": 1, "write_runs": 1}
    assert calls.index("settle") < calls.index("write_runs")
    assert len(find_runs(database)) == 2 * RUNS
    assert len(find_measurements(database)) == 2 * RUNS * 6
    measured = {row.run_id for row in find_measurements(database)}
    assert measured == {one.manifest.run_id for one in done}


def test_the_same_files_are_the_same_runs_whatever_their_names(database, evidence, files, tmp_path):
    sources = read_sources(files)[0]
    first = [one.manifest.run_id for one in imported(database, evidence, sources, {}, "0")]
    again = tmp_path / "again.csv"
    again.write_bytes(files[0].read_bytes())
    sources = read_sources([again, files[1]])[0]
    assert [one.manifest.run_id for one in imported(database, evidence, sources, {}, "0")] == first
    assert len(find_runs(database)) == 2 * RUNS


def test_rows_are_written_in_batches_whose_files_are_whole(database, evidence, files, monkeypatch):
    calls: list[str] = []
    counted(monkeypatch, calls, imports, "write_runs")
    monkeypatch.setattr(imports, "_ROWS_AT_ONCE", 10)
    list(imported(database, evidence, read_sources(files)[0], {}, "0"))
    assert len(calls) == 2
    assert len(find_runs(database)) == 2 * RUNS
