"""Evidence stores: full disks, and what survives a power failure."""

import json
import os
import threading
import time
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from diskbench.errors import InvalidValue, StoreUnavailable
from diskbench.store import parallel_evidence
from diskbench.store.evidence import ObjectEvidence, open_evidence
from diskbench.store.evidence_place import check_named, foreign_stores, is_same_store
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import imported
from diskbench.store.query import find_runs
from diskbench.store.rebuild import rebuild


def test_a_store_that_is_full_before_anything_began_is_not_to_be_resumed(small_disk):
    store = open_evidence(small_disk.as_uri())
    with pytest.raises(StoreUnavailable, match="No space left"):  # noqa: PT012 - until it is full
        for number in range(10_000):
            store.put(f"ballast/{number}", bytes(2**20 >> min(number // 20, 12)))
    with pytest.raises(StoreUnavailable, match="No space left") as caught:
        store.check_writable()
    assert "resume" not in caught.value.advice
    assert "--evidence-url" in caught.value.advice


def test_settling_a_run_flushes_its_files_and_each_directory_that_names_them(tmp_path, monkeypatch):
    store = open_evidence(tmp_path.as_uri())
    for key in ("runs/a/steps/000-x/fio.json", "runs/a/manifest.json", "runs/b/manifest.json"):
        store.put(key, b"{}")
    flushed = set()

    def fsync(descriptor):
        flushed.add(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    store.settle("runs/a")
    names = ("runs/a/steps/000-x/fio.json", "runs/a/manifest.json")
    above = ("runs/a/steps/000-x", "runs/a/steps", "runs/a", "runs", ".")
    assert flushed == {tmp_path / name for name in (*names, *above)}


# Whose evidence a command may change: the store that its settings name, and no other.


@pytest.mark.parametrize(
    ("url", "other", "same"),
    [
        ("file:///var/a", "file:///var/a/", True),
        ("file:///var/a", "file:///var/b", False),
        ("s3://bucket/a", "s3://bucket/a/", True),
        ("s3://bucket/a", "s3://bucket/b", False),
        ("s3://bucket/a", "gs://bucket/a", False),
        ("s3://bucket/a", "s3://other/a", False),
    ],
)
def test_two_urls_name_one_store_only_where_place_and_kind_are_equal(url, other, same):
    assert is_same_store(url, other) is same


def test_a_store_is_known_by_its_place_and_one_that_no_setting_names_is_refused(tmp_path):
    (tmp_path / "real" / "evidence").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert is_same_store(f"file://{tmp_path}/link/evidence", f"file://{tmp_path}/real/evidence")
    urls = ["file:///var/own", "file:///var/old", "file:///var/old", None]
    assert foreign_stores(urls, "file:///var/own") == Counter({"file:///var/old": 2})
    with pytest.raises(InvalidValue, match="evidence of 2 runs is in ") as refused:
        check_named(urls, "file:///var/own", whether="delete")
    assert "--evidence-url" in refused.value.advice
    check_named(urls[:1], "file:///var/own", whether="delete")


# Where evidence lies behind a network, its calls do not wait for each other.


RUNS, FILES = 6, 3


def gobonniego(path, *, runs, first=0):
    """A file of GoBonnieGo with so many runs, an hour apart."""
    begin, results = datetime(2026, 1, 1, tzinfo=UTC), []
    for number in range(first, first + runs):
        told = {"start_time": (begin + timedelta(hours=number)).isoformat(), "read_seconds": 50.0}
        told |= {"write_bytes": 2**33, "write_seconds": 60.0 + number, "read_bytes": 2**33}
        results.append(told | {"io_operations": 45_000, "io_seconds": 15.0})
    head = {"version": "1.0.9", "gobonniego_directory": "/mnt/disk", "num_readers_and_writers": 4}
    path.write_text(json.dumps(head | {"results": results}))
    return path


class Calls:
    """How many calls are under way, and the most of them at a time; each waits until another one is
    under way, or a moment."""

    def __init__(self):
        self.changed, self.under_way, self.most = threading.Condition(), 0, 0

    @contextmanager
    def one(self):
        with self.changed:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.most > 1, timeout=0.2)
        try:
            yield
        finally:
            with self.changed:
                self.under_way -= 1


@contextmanager
def watched(monkeypatch, name):
    """The calls of a method of stores."""
    calls, real = Calls(), getattr(ObjectEvidence, name)

    def call(*arguments, **named):
        with calls.one():
            return real(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(ObjectEvidence, name, call)
        yield calls


@pytest.fixture(params=["memory:///", "file"])
def store(request, tmp_path):
    url = request.param
    return open_evidence((tmp_path / "evidence").as_uri() if url == "file" else url)


def test_import_and_rebuild_call_a_bucket_in_parallel(store, database, tmp_path, monkeypatch):
    away = parallel_evidence.is_away(store)
    files = [gobonniego(tmp_path / f"{n}.json", runs=RUNS, first=n * RUNS) for n in range(FILES)]
    with watched(monkeypatch, "put") as puts:
        done = list(imported(database, store, read_sources(files)[0], {}, "0"))
    assert len(done) == len({run.manifest.run_id for run in done}) == RUNS * FILES
    before = find_runs(database)
    with watched(monkeypatch, "get") as gets:
        rebuilt = rebuild(database, store)
    assert len(rebuilt.runs) == RUNS * FILES
    assert [calls.most > 1 for calls in (puts, gets)] == [away, away]
    assert find_runs(database) == before


def test_the_same_file_twice_in_one_import_is_one_run(store, database, tmp_path):
    one = gobonniego(tmp_path / "one.json", runs=RUNS)
    other = gobonniego(tmp_path / "other.json", runs=RUNS)
    done = list(imported(database, store, read_sources([one, other])[0], {}, "0"))
    assert len({run.manifest.run_id for run in done}) == RUNS == len(find_runs(database))


def test_calls_within_calls_are_no_more_at_a_time(monkeypatch):
    store, calls = open_evidence("memory:///"), Calls()

    def inner(_):
        with calls.one():
            time.sleep(0.01)

    monkeypatch.setattr(parallel_evidence, "AT_ONCE", 4)
    each = parallel_evidence.each
    each(store, lambda _: each(store, inner, range(4)), range(8))
    assert 1 < calls.most <= 4
