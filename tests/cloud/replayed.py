"""A recording of `diskbench doctor --live`, answered by a server in place of the cloud.

Requests are matched by what they ask, not by their order: a recording of several threads has none.
What differs between two runs (numbers that stand for private values, times, tokens) is not
compared.
"""

import contextlib
import json
import re
import threading
from collections import defaultdict, deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote

from diskbench.engine.redaction import Cleaner
from diskbench.model.finding import Exchange, Recording
from diskbench.plugin import plugin
from diskbench.providers import recorder

ADDRESS = "127.0.0.1"
_VARIES = re.compile(
    r'versionId="[^"]*"|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|\b\d{9,}\b|'
    r"\b(private|user|role|token|project|name|group)-\d+(@example\.com)?|\b198\.1[89]\.\d+\.\d+|removed"
)


def read_recording(file):
    """A recording as it was attached to an issue."""
    return Recording.model_validate_json(file.read_text("utf-8"))


@dataclass
class Replay:
    """The answers of a recording by request; those of equal requests in their order, and the last
    one again and again."""

    recording: Recording
    unknown: list[str] = field(default_factory=list)
    _answers: dict[str, deque[Exchange]] = field(default_factory=lambda: defaultdict(deque))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self):
        for exchange in self.recording.exchanges:
            self._answers[_key(exchange)].append(exchange)

    def answer(self, method, url, sent, body):
        """The recorded answer; 501 for a request that was not recorded."""
        asked = recorder.exchange_of(
            method=method, url=url, sent=sent, asked=body, status=0, headers={}, body=None
        )
        cleaner = Cleaner(plugin(self.recording.provider).redaction)
        key = _key(cleaner.exchange(asked))
        with self._lock:
            answers = self._answers.get(key)
            if not answers:
                self.unknown.append(key)
                return Exchange(method=method, url=url, status=501, body={"error": key})
            return answers.popleft() if len(answers) > 1 else answers[0]


def _key(exchange):
    asked = exchange.asked
    if isinstance(asked, str) and "urlencoded" in exchange.sent.get("content-type", ""):
        asked = sorted(parse_qsl(asked, keep_blank_values=True))
    said = asked if isinstance(asked, str) else json.dumps(asked, sort_keys=True)
    target = exchange.sent.get("x-amz-target", "")
    path, _, query = exchange.url.partition("?")
    where = f"{unquote(path)}?{sorted(parse_qsl(query))}"
    return _VARIES.sub("·", f"{exchange.method} {where} {target} {said}")


@contextlib.contextmanager
def replaying(recording):
    """Serve a recording until the block ends; the replay and its endpoint."""
    replay = Replay(recording)

    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            """Say nothing."""

        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = replay.answer(self.command, self.path, dict(self.headers), body)
            text = found.body if isinstance(found.body, str) else json.dumps(found.body)
            content = text.encode() if found.body else b""
            self.send_response(found.status)
            for name, value in {**found.headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET  # noqa: N815

    with ThreadingHTTPServer((ADDRESS, 0), Requests) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield replay, f"http://{ADDRESS}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def compared(findings):
    """What a replay must find again: not the clock, who is logged in, or where the recording is."""
    rows = [one if isinstance(one, dict) else one.model_dump() for one in findings]
    return [
        (one["check"], one["state"], one["told"])
        for one in rows
        if one["check"] not in {"clock", "credentials", "recording"}
    ]


def check_replay(doctor, recording, *, code=0):
    """Run `doctor` with the recording's flags against its replay: every request is known, and code
    and findings are the same."""
    with replaying(recording) as (replay, endpoint):
        ended, found = doctor.asked(*recording.flags, "--endpoint-url", endpoint)
    assert replay.unknown == []
    assert compared(found) == compared(recording.findings)
    assert ended == code
