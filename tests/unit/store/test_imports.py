import os
from pathlib import Path

import pytest
from tests.rigs.dump import dump
from tests.rigs.plans import make_step, run_fio

import diskbench
from diskbench.errors import InvalidValue
from diskbench.store import archive
from diskbench.store.clock import now, ulid_time
from diskbench.store.database import open_database
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import import_source
from diskbench.store.query import find_measurements, find_run, find_runs
from diskbench.store.rebuild import rebuild, rows_of, write_run

pytestmark = pytest.mark.slow

GOBONNIEGO = b"""{"version": "1.0.8", "gobonniego_directory": "/mnt", "num_readers_and_writers": 4,
 "physical_memory_bytes": 8589934592, "results": [
 {"start_time": "2018-02-14T20:14:00.5Z", "write_bytes": 1000000000, "write_seconds": 10.0,
  "read_bytes": 1000000000, "read_seconds": 5.0, "io_operations": 500, "io_seconds": 5.0},
 {"start_time": "2018-02-14T20:16:00Z", "write_bytes": 1000000000, "write_seconds": 20.0,
  "read_bytes": 1000000000, "read_seconds": 5.0, "io_operations": 500, "io_seconds": 5.0}]}"""


def take_in(database, evidence, *paths, labels=()):
    manifests = [
        manifest
        for source in read_sources(paths).sources
        for manifest in import_source(evidence, source, labels=dict(labels), version="0.1.0")
    ]
    for manifest in manifests:
        write_run(database, rows_of(evidence, manifest))
    return [manifest.run_id for manifest in manifests]


@pytest.fixture
def fio_json(tmp_path):
    """fio's JSON and logs as somebody else kept them."""
    step = make_step()
    job = step.job.replace("[write]", "write_bw_log=fio\n\n[write]")
    files = run_fio(tmp_path / "theirs", step.model_copy(update={"job": job}))
    (tmp_path / "theirs" / "result.json").write_bytes(files["fio.json"])
    return tmp_path / "theirs" / "result.json"


def test_fio_json_becomes_a_run_marked_imported(database, evidence, fio_json):
    [run_id] = take_in(database, evidence, fio_json, labels=(("from", "a friend"),))
    run = find_run(database, run_id)
    assert (run.imported, run.unverified, run.state) == (True, True, "done")
    assert (run.profile, run.provider) == ("result.json", "import/fio-json")
    assert run.labels == {"from": "a friend"}
    assert [row.scope for row in find_measurements(database)] == ["job", "step"]
    assert find_measurements(database)[0].ios == 64


def test_the_original_is_kept_to_the_byte_and_twice_is_once(database, evidence, fio_json):
    [run_id] = take_in(database, evidence, fio_json)
    before = dump(database)
    assert take_in(database, evidence, fio_json) == [run_id]
    assert dump(database) == before
    record = archive.read_manifest(evidence, run_id).imported
    kept = archive.read_file(
        evidence, archive.run_prefix(run_id), "result.json", record.files["result.json"]
    )
    assert kept == fio_json.read_bytes()


def test_logs_beside_a_result_belong_to_it(database, evidence, fio_json, tmp_path):
    logs = sorted(fio_json.parent.glob("*.log"))
    assert logs
    [run_id] = take_in(database, evidence, *logs, fio_json)
    series = diskbench.load_series(run_id, evidence=(tmp_path / "evidence").as_uri())
    assert series["bytes_per_s"].sum() > 0


def test_logs_alone_are_a_run_with_a_series_and_no_rows(database, evidence, fio_json, tmp_path):
    [run_id] = take_in(database, evidence, *fio_json.parent.glob("*.log"))
    assert find_run(database, run_id).provider == "import/fio-log"
    assert find_measurements(database) == []
    series = diskbench.load_series(run_id, evidence=(tmp_path / "evidence").as_uri())
    assert series.height > 0


def test_logs_without_a_time_have_no_date(database, evidence, fio_json):
    logs = sorted(fio_json.parent.glob("*.log"))
    for log in logs:
        os.utime(log, (1_600_000_000, 1_600_000_000))
    before = now()
    [run_id] = take_in(database, evidence, *logs)
    run = find_run(database, run_id)
    assert (run.measured_at, run.started_at, run.finished_at) == (None, None, None)
    assert before <= run.created_at <= now(), "when it was imported"
    assert ulid_time(run_id)[:19] == run.created_at[:19]


def test_logs_copied_later_are_still_the_same_run(database, evidence, fio_json):
    logs = sorted(fio_json.parent.glob("*.log"))
    first = take_in(database, evidence, *logs)
    for log in logs:
        os.utime(log, (1_600_000_000, 1_600_000_000))
    assert take_in(database, evidence, *logs) == first


def test_each_result_of_gobonniego_is_a_run_of_one_trial(database, evidence, tmp_path):
    (tmp_path / "bonnie.json").write_bytes(GOBONNIEGO)
    run_ids = take_in(database, evidence, tmp_path / "bonnie.json")
    runs = list(reversed(find_runs(database)))
    assert [run.run_id for run in runs] == run_ids
    assert [run.run_index for run in runs] == [0, 1]
    assert {run.trial_id for run in runs} == {run_ids[0]}
    assert runs[0].created_at == "2018-02-14T20:14:00.500000+00:00"
    assert runs[0].memory_bytes == 8589934592
    rates = [row.bytes_per_s for row in find_measurements(database) if row.step == "seqwrite"]
    assert rates == [1e8, 5e7]


def test_imported_rows_are_rebuilt_alike(database, evidence, fio_json, tmp_path):
    (tmp_path / "bonnie.json").write_bytes(GOBONNIEGO)
    take_in(database, evidence, tmp_path / "bonnie.json", fio_json)
    take_in(database, evidence, *fio_json.parent.glob("*.log"))
    other = open_database(f"sqlite:///{tmp_path}/other.db")
    assert rebuild(other, evidence).failed == ()
    assert dump(other) == dump(database)
    other.dispose()


@pytest.mark.parametrize("data", [b"", b"notes", b'{"fio version": "fio-3.33"'])
def test_a_file_that_is_none_of_these_is_refused_and_nothing_is_kept(evidence, tmp_path, data):
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(InvalidValue, match=r"x\.json"):
        take_in(None, evidence, path)
    assert evidence.list("runs") == []


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InvalidValue, match="No such file"):
        read_sources([Path(tmp_path / "none.json")])
