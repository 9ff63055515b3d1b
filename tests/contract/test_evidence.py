"""What every EvidenceStore does (ports.py), held against each kind that runs here."""

import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from diskbench.errors import InvalidValue, KeyTaken, StoreUnavailable
from diskbench.ports import EvidenceStore
from diskbench.store.evidence import open_evidence


@pytest.fixture(params=["file", "memory"])
def store(request, tmp_path):
    urls = {"file": (tmp_path / "a store with spaces").as_uri(), "memory": "memory:///"}
    return open_evidence(urls[request.param])


def test_what_is_put_is_got_whole_and_may_be_put_again(store):
    larger_than_an_upload_part = bytes(range(256)) * (12 * 2**20 // 256)
    for name, data in enumerate((b"", b"\x00\xff" * 1000, larger_than_an_upload_part)):
        for _ in range(2):
            store.put(f"runs/{name}/x", data)
        assert store.get(f"runs/{name}/x") == data
        assert store.list(f"runs/{name}") == [f"runs/{name}/x"]


def test_other_bytes_under_a_taken_key_are_refused_and_a_missing_one_is_a_key_error(store):
    store.put("runs/a/x", b"1")
    with pytest.raises(KeyTaken, match="runs/a/x"):
        store.put("runs/a/x", b"2")
    assert store.get("runs/a/x") == b"1"
    with pytest.raises(KeyError):
        store.get("runs/none")


def test_a_list_is_sorted_and_ends_at_the_slash(store):
    for key in ("runs/b/1", "runs/a/2", "runs/a/1", "runs/ab/1"):
        store.put(key, b"")
    assert store.list("runs/a") == ["runs/a/1", "runs/a/2"]
    assert store.list("runs") == ["runs/a/1", "runs/a/2", "runs/ab/1", "runs/b/1"]
    assert store.list("none") == []


def test_folders_are_the_names_one_below_and_sizes_what_each_key_takes(store):
    for key, data in (("runs/b/1", b"123"), ("runs/a/2/3", b""), ("runs/f", b"1"), ("o/1", b"1")):
        store.put(key, data)
    assert store.folders("runs") == ["a", "b"]
    assert store.folders("none") == []
    assert list(store.sizes("runs").items()) == [("runs/a/2/3", 0), ("runs/b/1", 3), ("runs/f", 1)]
    assert store.sizes("none") == {}


def test_removed_keys_and_a_deleted_prefix_are_gone_and_their_neighbours_stay(store):
    for key in ("runs/a/1", "runs/a/b/2", "runs/a/11", "runs/ab/1", "runs/b"):
        store.put(key, b"")
    store.remove(["runs/a/1", "runs/none", "runs/b"])
    assert store.list("runs") == ["runs/a/11", "runs/a/b/2", "runs/ab/1"]
    for _ in range(2):
        store.delete("runs/a")
    assert store.list("runs") == ["runs/ab/1"]
    assert store.folders("runs") == ["ab"]


def test_a_writable_store_is_found_so_and_left_as_it_was(store):
    store.check_writable()
    assert store.list("") == []
    assert isinstance(store, EvidenceStore)


def test_a_store_that_cannot_be_made_or_may_only_be_read_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="Not a directory") as caught:
        open_evidence((tmp_path / "file" / "store").as_uri())
    assert "DISKBENCH_EVIDENCE_URL" in caught.value.advice
    read_only = pytest.raises(StoreUnavailable, match="Read-only file system")
    with mounted(tmp_path / "store", "ro,size=1m") as url, read_only:
        open_evidence(url).check_writable()


@contextmanager
def mounted(place, options):
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
    try:
        yield place.as_uri()
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def test_a_full_disk_is_told_with_what_to_do_and_keeps_what_was_there(tmp_path):
    with mounted(tmp_path / "store", "size=1m") as url:
        store = open_evidence(url)
        store.put("runs/a/small", b"x")
        with pytest.raises(StoreUnavailable, match="No space left on device") as caught:
            store.put("runs/a/large", b"x" * 2**21)
        assert "diskbench resume" in caught.value.advice
        assert "still on the measured host" in caught.value.advice
        assert store.list("runs") == ["runs/a/small"]
        assert store.get("runs/a/small") == b"x"


@pytest.mark.parametrize("url", ["ftp://host/x", "nonsense://x"])
def test_a_scheme_that_is_not_known_is_refused(url):
    with pytest.raises(InvalidValue, match="not supported"):
        open_evidence(url)


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:hunter2@b/x",
        "gs://hunter2:@b/x",
        "az://a/b?sas_token=hunter2",
        "s3://b?key=hunter2",
    ],
)
def test_credentials_in_a_url_are_refused_and_not_shown(url):
    with pytest.raises(InvalidValue, match="holds credentials") as caught:
        open_evidence(url)
    assert "key:hunter2" not in str(caught.value)
    assert "=hunter2" not in str(caught.value)


class NoBucket(BaseHTTPRequestHandler):
    """What S3 answers to anything in a bucket that does not exist."""

    def answer(self):
        body = b"<?xml version='1.0'?><Error><Code>NoSuchBucket</Code></Error>"
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_GET = answer  # noqa: N815 - the server's names

    def log_message(self, *_):
        pass


@pytest.fixture
def no_bucket(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), NoBucket)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "eu-central-1",
        "AWS_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    yield "s3://bucket/prefix"
    server.shutdown()
    server.server_close()


def test_a_bucket_that_does_not_exist_is_told(no_bucket):
    store = open_evidence(no_bucket)
    with pytest.raises(StoreUnavailable, match=r"cannot write .*404") as caught:
        store.check_writable()
    assert "make the bucket first" in caught.value.advice
    with pytest.raises(StoreUnavailable, match=r"cannot list .*404"):
        store.list("runs")


@pytest.mark.slow
def test_a_bucket_that_cannot_be_reached_is_told(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    store = open_evidence("s3://bucket/prefix")
    with pytest.raises(StoreUnavailable, match="s3://bucket/prefix: cannot write") as caught:
        store.check_writable()
    assert "hunter2" not in str(caught.value)
