"""`diskbench regressions --notify URL`: what a webhook gets, and when."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tests.rigs.replicates import measured

from diskbench.cli.main import main


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        """No lines on stderr."""


@pytest.fixture
def webhook():
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    server.got, server.status = [], 200
    server.url = f"http://127.0.0.1:{server.server_port}/hooks/s3cret"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def nights(here, database, monkeypatch):  # noqa: ARG001 - the settings lead to it
    """Writes the nights from `first` on, one figure each."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def write(first, values):
        for night, value in enumerate(values, first):
            measured(database, [value], campaign=night)

    return write


def test_a_change_is_posted_once_at_the_time_that_showed_it(nights, webhook, capsys):
    nights(0, [3000 + n for n in range(12)] + [2500, 2501])
    assert main(["regressions", "--notify", webhook.url]) == 0
    assert webhook.got == [], "two times on a level are no change"
    for night, expected in ((14, 1), (15, 1), (16, 1)):
        nights(night, [2500 + night])
        assert main(["regressions", "--notify", webhook.url]) == 0
        assert len(webhook.got) == expected
    (path, kind, document), *_ = webhook.got
    assert (path, kind) == ("/hooks/s3cret", "application/json")
    title, line = document["text"].splitlines()
    assert title == "diskbench: 1 figure became worse"
    assert "read read: 3,006 IOPS → 2,501 IOPS (−16.8 %), since 20" in line
    assert "s3cret" not in capsys.readouterr().out


def test_a_change_for_the_better_is_not_posted_and_json_stays_whole(nights, webhook, capsys):
    nights(0, [3000 + n for n in range(12)] + [3500, 3501, 3502])
    assert main(["regressions", "--notify", webhook.url, "--output", "json"]) == 0
    assert webhook.got == []
    (history,) = json.loads(capsys.readouterr().out)["histories"]
    assert [change["new"] for change in history["changes"]] == [True]


def test_the_url_may_come_from_the_environment(nights, webhook, monkeypatch):
    monkeypatch.setenv("DISKBENCH_NOTIFY_URL", webhook.url)
    nights(0, [3000 + n for n in range(12)] + [2500, 2501, 2502])
    assert main(["regressions"]) == 0
    assert len(webhook.got) == 1


@pytest.mark.parametrize(
    ("status", "url", "code", "words"),
    [
        (404, None, 2, "the webhook at 127.0.0.1 answered 404"),
        (200, "http://127.0.0.1:1/s3cret", 2, "no answer from the webhook at 127.0.0.1"),
        (200, "hooks.example/s3cret", 2, "the webhook is not an http or https URL"),
    ],
)
def test_what_fails_is_said_without_the_path_of_it(
    nights, webhook, capsys, status, url, code, words
):
    webhook.status = status
    nights(0, [3000 + n for n in range(12)] + [2500, 2501, 2502])
    assert main(["regressions", "--notify", url or webhook.url]) == code
    errors = capsys.readouterr().err
    assert words in errors
    assert "s3cret" not in errors
