"""Evidence stores, full disks and power failures; URLs of stores, none shown with its password."""

import json
import os
import threading
import time
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import strategies as st

from diskbench.errors import DiskbenchError, InvalidValue, StoreUnavailable
from diskbench.settings import load_settings
from diskbench.store import parallel_evidence, urls
from diskbench.store.database import engine_options, parse_url
from diskbench.store.database_errors import shown_url
from diskbench.store.evidence import ObjectEvidence, open_evidence
from diskbench.store.evidence_place import check_named, foreign_stores, is_same_store
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import imported
from diskbench.store.query import find_runs
from diskbench.store.rebuild import rebuild
from diskbench.store.urls import database_file, database_url, printable


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


RUNS, FILES = 3, 2


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


SECRETS = st.text(
    st.sampled_from("hunter2#?/@:%&=+[]! é密\u202e\n\x1b")
    | st.characters(exclude_categories=["Cs"]),
    min_size=6,
    max_size=20,
)
"""Passwords of every kind of letter; long enough not to be part of what is printed by chance."""
WORD = st.text(st.sampled_from("abcdefgh0123-_."), min_size=1, max_size=5)


def parts_of(secret):
    """What would give a password away: itself, its quoted form, and every run of six letters."""
    found = {secret, quote(secret, safe=""), unquote(secret)}
    found |= {secret[i : i + 6] for i in range(len(secret) - 5)}
    return {one for one in found if len(one) >= 6}


def told_about(url):
    """All that diskbench says of a database URL, however it is refused or taken."""
    told = [printable(url)]
    try:
        parsed = parse_url(url)
    except DiskbenchError as error:
        return [*told, str(error), repr(error), repr(error.__cause__), repr(error.args)]
    engine = sa.create_engine(parsed, **engine_options(parsed))
    told += [shown_url(engine), repr(engine), str(parsed)]
    settings = load_settings({"database_url": url})
    return [*told, settings.shown("database_url"), repr(settings), settings.model_dump_json()]


@given(SECRETS, WORD, WORD)
@example("pass#word", "u", "h")
@example("p?ass@word", "u", "h")
@example("pass/word@x", "u", "h")
@example("100%secret", "u", "h")
@example("diskbe", "u", "h")
def test_a_password_as_it_is_typed_is_never_shown(secret, user, host):
    url = f"postgresql://{user}:{secret}@{host}/d"
    # What is said of another password, taken or refused, are the program's own words.
    others = (f"postgresql://{user}:{other}@{host}/d" for other in ("-", "#"))
    own = "\n".join(text for other in others for text in told_about(other))
    for text in told_about(url):
        for part in parts_of(secret) - parts_of("postgresql://d"):
            assert part not in text or part in own


@given(SECRETS, WORD)
def test_a_percent_encoded_password_is_taken_and_never_shown(secret, user):
    url = f"postgresql://{user}:{quote(secret, safe='')}@host.example:5432/d"
    assert parse_url(url).password == secret
    with_another = told_about(f"postgresql://{user}:-@host.example:5432/d")
    for text, other in zip(told_about(url), with_another, strict=True):
        for form in {secret, quote(secret, safe="")}:
            assert text.count(form) == other.count(form), "as a word of the program's own"


@given(SECRETS)
def test_a_url_that_another_process_is_given_is_taken_there(secret):
    """cli/foreground.py renders the URL; the process that it starts reads the same password."""
    url = parse_url(f"postgresql://me:{quote(secret, safe='')}@h/d")
    assert parse_url(url.render_as_string(hide_password=False)) == url


@given(SECRETS, st.sampled_from(["password", "sslpassword", "options", "passfile"]))
def test_a_secret_in_a_parameter_is_never_shown(secret, name):
    url = f"postgresql://h/d?{name}={quote(secret, safe='')}"
    for text in (printable(url), shown_url(sa.create_engine(parse_url(url)))):
        assert secret not in text
        assert quote(secret, safe="") not in text


@pytest.mark.parametrize(
    ("taken", "forms", "url"),
    [
        *((database_url, ("postgresql://", "%40", "libpq"), url) for url in (
            "postgresql:/u:hunter2@h/d", "postgresql:u:hunter2@h/d", "postgres//u:hunter2@h/d",
            "host=h password=hunter2", "host=h", "dbname=d user=u password=hunter2",
            "u:hunter2@h/d", "u:hunter2@h:5432", "postgresql://u:hunter2/d",
            "postgresql://u:hunter2@h:port/d", "postgresql://u:hunter2@h/d/e",
            "postgresql://u:hunter2@h/d#x", "postgresql://u:hunter2@h/d?passwort=hunter2",
            "postgresql://u:hunter2@h1,h2/d", "postgresql://u:hunter2%@h/d",
            "sqlite://u:hunter2@h/d", "sqlite:rows.db", "sqlite:/rows.db",
            "mysql://u:hunter2@h/d", "hunter2://u@h/d",
            "jdbc:postgresql://h/d?password=hunter2", "rows.db?password=hunter2", "postgresql",
            "rows\n.db", "  ", "",
        )),
        *((open_evidence, ("s3://bucket/prefix",), url) for url in (
            "s3://AKIA:hunter2@bucket/x", "s3:/AKIA:hunter2@bucket/x", "s3://bucket:hunter2/x",
            "s3://bucket/x?secret=hunter2", "s3://bucket/x#hunter2",
            "https://account.blob.core.windows.net/c?sv=1&sig=hunter2",
            "az://account:hunter2@container", "file://hunter2:x@host/x", "file:///x?hunter2",
            "file:///x#hunter2", "file:/x", "hunter2://x", "s3://", "",
        )),
    ],
)  # fmt: skip
def test_a_url_of_no_known_form_is_refused_with_the_forms_that_are(taken, forms, url):
    with pytest.raises(InvalidValue) as caught:
        taken(url)
    assert "hunter2" not in str(caught.value)
    assert any(words in caught.value.advice for words in forms)
    assert "hunter2" not in printable(url)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////var/lib/rows.db", "sqlite:///rows.db",
        "sqlite:///file:/x/rows.db?mode=ro&uri=true", "sqlite://", "postgresql://h/d",
        "postgresql://u@h:5432/d", "postgres://u:p@[::1]:5432/d",
        "postgresql+psycopg://bench@/d?host=/run/postgresql",
        "postgresql://u:p%40ss@h/d?sslmode=require",
    ],
)  # fmt: skip
def test_a_known_form_is_taken_as_it_is(url):
    assert database_url(url) == url


@pytest.mark.parametrize(
    "text", ["/x/rows.db", "rows.db", "./a=b.db", "my data/rows.db", "/home/a@b/rows#1.db"]
)
def test_a_path_is_a_sqlite_file(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert database_file(database_url(text)) == tmp_path / text
    assert urls.evidence_directory(urls.evidence_url(text)) == tmp_path / text


def test_the_file_of_a_url_is_found_without_its_parameters():
    assert database_file("sqlite:////x/rows.db?timeout=3") == Path("/x/rows.db")
    assert database_file("sqlite:///file:/x/rows.db?mode=ro&uri=true") == Path("/x/rows.db")
    assert database_file("postgresql://h/d") is None
    assert database_file("sqlite://") is None
