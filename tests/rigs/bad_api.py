"""An HTTP proxy before a cloud's API that does to some requests what clouds do on bad days."""

from __future__ import annotations

import contextlib
import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

DEEDS = ("fails", "hangs", "loses the answer", "asks twice", "answers late", "throttles")
THROTTLED = (
    b'<?xml version="1.0"?><Response><Errors><Error><Code>RequestLimitExceeded</Code>'
    b"<Message>Request limit exceeded.</Message></Error></Errors></Response>"
)
"""As EC2 says it (tests/cloud/emulator/aws/faults.py)."""


@dataclass
class BadApi:
    """What it does, how often: a share of all requests, drawn with a seed, the deeds in turn."""

    target: str
    share: float
    seed: int
    hang_s: float = 5.0
    late_s: float = 1.0
    done: Counter[str] = field(default_factory=Counter)
    endpoint: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    def deed(self) -> str | None:
        """What to do to the next request; None for nothing."""
        with self._lock:
            if self._chance.random() >= self.share:
                return None
            chosen = DEEDS[self.done.total() % len(DEEDS)]
            self.done[chosen] += 1
            return chosen

    def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """What the real one answers."""
        parts = urlsplit(self.target)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: BadApi

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        deed = self.api.deed()
        if deed == "hangs":
            time.sleep(self.api.hang_s)
            self._hang_up()
            return
        if deed == "fails":
            self._answer(500, [("Content-Type", "text/plain")], b"an internal error")
            return
        if deed == "throttles":
            self._answer(503, [("Content-Type", "text/xml")], THROTTLED)
            return
        asked = self.command, self.path, self.headers, body
        answer = self.api.ask(*asked)
        if deed == "asks twice":
            answer = self.api.ask(*asked)
        if deed == "answers late":
            time.sleep(self.api.late_s)
        if deed == "loses the answer":
            self._hang_up()
            return
        self._answer(*answer)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any  # noqa: N815 - the base's names

    def _hang_up(self) -> None:
        self.close_connection = True

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in {"content-length", "transfer-encoding", "connection"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def bad_api(target: str, *, share: float, seed: int) -> Iterator[BadApi]:
    """The proxy, before the HTTP endpoint `target`, until the block ends."""
    api = BadApi(target, share, seed)
    handler = type("Handler", (_Handler,), {"api": api})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        api.endpoint = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
