"""`results prune` removes raw logs and nothing that anybody reads: on disk and in a bucket."""

import hashlib
import json
import re
from datetime import UTC, datetime
from shutil import copytree

import pytest
from tests.rigs.measured import keep_finished, stores_in
from tests.rigs.plans import RUN_IDS, make_plan, run_fio
from tests.rigs.s3 import s3_bucket

from diskbench.model.ids import short
from diskbench.results.pruning import due_runs, prune
from diskbench.results.selection import Selection
from diskbench.store import archive, stored_series
from diskbench.store.audits import run_audits
from diskbench.store.content import read_file
from diskbench.store.derived import pruned_key, read_pruned
from diskbench.store.evidence import open_evidence
from diskbench.store.frames import series_frame
from diskbench.store.stored_series import latency_seconds

pytestmark = pytest.mark.slow

LOGS = "write_bw_log=fio\nwrite_iops_log=fio\nwrite_lat_log=fio\nwrite_hist_log=fio\n"
NOW = ("--keep", "0s", "--yes")


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """Two steps that fio ran, with a row an I/O in their logs."""
    place = tmp_path_factory.mktemp("fio")
    measured = []
    for planned in make_plan().steps:
        step = planned.model_copy(update={"job": planned.job + LOGS})
        here = place / str(step.index)
        files = run_fio(here, step)
        files |= {log.name: log.read_bytes() for log in here.glob("*.log")}
        assert len(files) > 9
        measured.append((step, files))
    return measured


@pytest.fixture(params=["file", "s3"])
def stores(request, here, finished, monkeypatch):
    """A database with two finished runs of one trial, and the settings that lead to it."""
    monkeypatch.setenv("COLUMNS", "200")
    if request.param == "file":
        copytree(finished, here, dirs_exist_ok=True)
        with stores_in(here) as both:
            yield both
        return
    with s3_bucket() as (url, environment), stores_in(here) as (database, _):
        for name, value in (environment | {"DISKBENCH_EVIDENCE_URL": url}).items():
            monkeypatch.setenv(name, value)
        steps, evidence = request.getfixturevalue("steps"), open_evidence(url)
        keep_finished(database, evidence, make_plan(), steps)
        yield database, evidence


@pytest.fixture
def call(call, stores):  # noqa: ARG001 - the settings lead to its stores
    return call


def read(call, evidence):
    """All that is read of the runs: what people and programs get, and the figures behind it."""
    shown = [call("results", "show", *how) for how in (("--plot",), ("--output", "json"))]
    assert {code for code, _, _ in shown} == {0}
    figures = [
        (series_frame(evidence, run_id).rows(), latency_seconds(evidence, run_id).rows())
        for run_id in RUN_IDS
    ]
    assert all(series and latencies for series, latencies in figures)
    return shown, figures


def page(call, tmp_path):
    """The report, without the time at which it was made."""
    code, _, err = call("report", "last", "-o", str(tmp_path / "page.html"))
    assert (code, "no " in err) == (0, False), err
    text = (tmp_path / "page.html").read_text()
    return re.sub(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?", "TIME", text)


def logs_in(evidence):
    return [key for key in evidence.list("runs") if ".log" in key]


def test_a_pruned_run_reads_as_before(call, stores):
    _, evidence = stores
    before = read(call, evidence)
    sizes, whole = evidence.sizes("runs"), evidence.list("runs")
    logs = logs_in(evidence)

    assert call("results", "prune", "--keep", "30d")[:2] == (0, "")
    code, would, _ = call("results", "prune", "--keep", "0s", "--dry-run")
    assert (code, evidence.list("runs")) == (0, whole)
    code, _, err = call("results", "prune", "--keep", "0s")
    assert (code, "--yes" in err, evidence.list("runs")) == (2, True, whole)

    code, freed, _ = call("results", "prune", *NOW)
    assert (code, freed) == (0, would.replace("would free", "freed"))
    assert f"{len(logs)} logs of 2 runs" in freed.splitlines()[-1]
    assert logs_in(evidence) == []
    kept = evidence.sizes("runs")
    assert sum(kept.values()) < sum(sizes.values())
    assert [key for key in sizes if "/derived/" not in key and key not in kept] == logs
    assert read(call, evidence) == before
    assert "pruned on" in call("results", "show", "-v")[1]

    # Without what is cached, and from the evidence alone, it is the same.
    for run_id in RUN_IDS:
        evidence.delete(f"runs/{run_id}/derived")
    audits = [audit for run_id in RUN_IDS for audit in run_audits(evidence, run_id)]
    assert all(one.holds for audit in audits for one in audit.checks if one.name == "logs")
    assert call("results", "prune", *NOW) == (0, "", "nothing to free\n")
    code, _, err = call("results", "rebuild")
    assert (code, "damaged" in err, read(call, evidence)) == (0, False, before)
    assert call("results", "prune", *NOW) == (0, "", "nothing to free\n")


@pytest.mark.parametrize("stores", ["file"], indirect=True)
def test_the_report_of_a_pruned_run_is_as_before(call, stores, tmp_path):  # noqa: ARG001
    before = page(call, tmp_path)
    assert call("results", "prune", *NOW)[0] == 0
    assert page(call, tmp_path) == before


def test_the_record_names_each_removed_file(call, stores, steps):
    _, evidence = stores
    assert call("results", "prune", *NOW)[0] == 0
    record = json.loads(evidence.get(pruned_key(RUN_IDS[0])))
    assert datetime.fromisoformat(record["pruned_at"]) <= datetime.now(UTC)
    for step, files in steps:
        named = record["steps"][archive.step_folder(step)]["logs"]
        logs = {name: data for name, data in files.items() if name.endswith(".log")}
        assert named.keys() == logs.keys()
        for name, data in logs.items():
            told = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            assert named[name].items() >= told.items()
    for step in read_pruned(evidence, RUN_IDS[0]).steps.values():
        for name, file in step.kept.items():
            assert read_file(evidence, f"runs/{RUN_IDS[0]}", name, file)


class KilledError(Exception):
    """What ends a process between two calls of the store."""


class Dying:
    """A store of which only the first `left` calls that change something are made."""

    def __init__(self, evidence, left):
        self._evidence, self._left = evidence, left

    def __getattr__(self, name):
        return getattr(self._evidence, name)

    def _spend(self):
        if not self._left:
            raise KilledError
        self._left -= 1

    def replace(self, key, data):
        self._spend()
        self._evidence.replace(key, data)

    def remove(self, keys):
        for key in keys:
            self._spend()
            self._evidence.remove([key])


@pytest.mark.parametrize("stores", ["file"], indirect=True)
def test_a_kill_between_two_calls_leaves_a_whole_run(call, stores):
    """Four derived files are written, then the record, then the logs are deleted one by one."""
    database, evidence = stores
    before = read(call, evidence)
    at = datetime.now(UTC)
    runs = due_runs(database, Selection((f"run_id={RUN_IDS[0]}",)), 0, at)
    for calls, recorded in ((0, False), (3, False), (4, False), (5, True), (2, True)):
        with pytest.raises(KilledError):
            list(prune(runs, Dying(evidence, calls), at=at))
        assert (read_pruned(evidence, RUN_IDS[0]) is not None) is recorded
        assert read(call, evidence) == before
    assert call("results", "prune", *NOW)[0] == 0
    assert (logs_in(evidence), read(call, evidence)) == ([], before)


def test_logs_that_take_less_than_what_would_be_kept_are_left(call, stores, monkeypatch):
    _, evidence = stores
    logs = logs_in(evidence)
    monkeypatch.setattr(stored_series, "latencies_parquet", lambda *_: bytes(10**7))
    assert "kept 2 runs: the logs take less" in call("results", "prune", *NOW)[2]
    assert logs_in(evidence) == logs


def test_a_run_whose_series_cannot_be_made_is_left_and_named(call, stores):
    _, evidence = stores
    evidence.remove([next(key for key in logs_in(evidence) if RUN_IDS[0] in key and "lat" in key)])
    evidence.delete(f"runs/{RUN_IDS[0]}/derived")
    code, out, err = call("results", "prune", *NOW)
    assert (code, RUN_IDS[0] in err, RUN_IDS[1] in err) == (0, True, False)
    assert "of 1 run" in out
    assert all(RUN_IDS[0] in key for key in logs_in(evidence))
    assert read_pruned(evidence, RUN_IDS[0]) is None


@pytest.mark.parametrize("stores", ["file"], indirect=True)
def test_of_imports_only_those_with_a_report_lose_their_logs(call, stores, steps, tmp_path):
    _, evidence = stores
    _, files = steps[0]
    runs = {}
    for name in ("whole", "logs"):
        (tmp_path / name).mkdir()
        for file, data in files.items():
            if file.endswith(".log") or (file, name) == ("fio.json", "whole"):
                (tmp_path / name / file).write_bytes(data)
        out = call.done("results", "import", str(tmp_path / name))
        runs[name] = out.split()[0]
    before = call("results", "show", runs["whole"], "--output", "json")
    code, out, err = call("results", "prune", *runs.values(), *NOW)
    assert (code, short(runs["logs"]) in err, short(runs["whole"]) in err) == (0, True, False)
    kept = logs_in(evidence)
    assert any(runs["logs"] in key for key in kept)
    assert not any(runs["whole"] in key for key in kept)
    assert all(any(run_id in key for key in kept) for run_id in RUN_IDS), "they were not selected"
    assert call("results", "rebuild")[0] == 0
    assert call("results", "show", runs["whole"], "--output", "json") == before
