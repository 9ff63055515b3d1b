"""A proxy before a cloud's API that does to some requests what clouds do on bad days."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from emulators.azure.authority import make_authority

DEEDS = ("fails", "hangs", "loses the answer", "asks twice", "answers late", "throttles")
HANGS_S = 30.0
"""How long an answer that never comes keeps the connection; clients give up before."""
LATE_S = 1.0


@dataclass(frozen=True)
class Manner:
    """How one cloud speaks: its words for too many requests, and which ones change things."""

    throttled: tuple[int, str, bytes]
    changes: Callable[[str, str, bytes], bool]
    """Of method, path and body."""


AWS = Manner(
    throttled=(
        503,
        "text/xml",
        (
            b'<?xml version="1.0"?><Response><Errors><Error><Code>RequestLimitExceeded</Code>'
            b"<Message>Request limit exceeded.</Message></Error></Errors></Response>"
        ),
    ),
    changes=lambda _method, _path, body: (
        b"Action=" in body and b"Action=Describe" not in body and b"Action=Get" not in body
    ),
)
AZURE = Manner(
    throttled=(
        429,
        "application/json",
        json.dumps(
            {"error": {"code": "TooManyRequests", "message": "The request is being throttled."}}
        ).encode(),
    ),
    changes=lambda method, path, _body: method != "GET" and path.startswith("/subscriptions/"),
)
GCP = Manner(
    throttled=(
        403,
        "application/json",
        json.dumps(
            {
                "error": {
                    "code": 403,
                    "message": "Rate Limit Exceeded",
                    "errors": [{"reason": "rateLimitExceeded", "message": "Rate Limit Exceeded"}],
                }
            }
        ).encode(),
    ),
    changes=lambda method, path, _body: method != "GET" and path.startswith("/compute/"),
)
VSPHERE = Manner(
    # vCenter has no throttle of its own; the proxy before its services says this when it is full.
    throttled=(503, "text/plain", b"upstream connect error: overflow"),
    changes=lambda _method, _path, body: b"_Task xmlns" in body,
)


@dataclass
class BadApi:
    """What it does, and how often: a share of the requests that look and one of those that change
    something, drawn with a seed; of each kind the deeds in turn."""

    target: str
    manner: Manner
    seed: int
    of_looks: float = 0.08
    of_changes: float = 0.6
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often what was done to which kind, `looks` or `changes`."""
    endpoint: str = ""
    ca_file: Path | None = None
    """Who vouches for it, where it speaks TLS."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._trust = ssl.create_default_context()
        self._trust.check_hostname, self._trust.verify_mode = False, ssl.CERT_NONE

    def deed(self, method: str, path: str, body: bytes) -> str | None:
        """What to do to this request; None for nothing."""
        changes = self.manner.changes(method, path, body)
        kind, share = ("changes", self.of_changes) if changes else ("looks", self.of_looks)
        with self._lock:
            if self._chance.random() >= share:
                return None
            chosen = DEEDS[sum(self.done[deed, kind] for deed in DEEDS) % len(DEEDS)]
            self.done[chosen, kind] += 1
            return chosen

    def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """What the real one answers; where it names itself, it names this one."""
        parts = urlsplit(self.target)
        address = parts.hostname or "", parts.port
        connection = (
            http.client.HTTPSConnection(*address, timeout=240, context=self._trust)
            if parts.scheme == "https"
            else http.client.HTTPConnection(*address, timeout=240)
        )
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers=dict(headers))
            answer = connection.getresponse()
            mine = [(name, self._renamed(value)) for name, value in answer.getheaders()]
            content = answer.read()
            return answer.status, mine, self._renamed(content.decode("latin-1")).encode("latin-1")

    def _renamed(self, text: str) -> str:
        return text.replace(self.target, self.endpoint)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: BadApi

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # whoever asked has given up
            super().handle()

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        deed = self.api.deed(self.command, self.path, body)
        if deed == "hangs":
            time.sleep(HANGS_S)
            self.close_connection = True
            return
        if deed == "fails":
            self._answer(500, [("Content-Type", "text/plain")], b"an internal error")
            return
        if deed == "throttles":
            status, kind, said = self.api.manner.throttled
            self._answer(status, [("Content-Type", kind)], said)
            return
        asked = self.command, self.path, self.headers, body
        answer = self.api.ask(*asked)
        if deed == "asks twice":
            answer = self.api.ask(*asked)
        if deed == "answers late":
            time.sleep(LATE_S)
        if deed == "loses the answer":
            self.close_connection = True
            return
        self._answer(*answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any  # noqa: N815 - the base's names

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


class _Server(ThreadingHTTPServer):
    daemon_threads = True


@contextmanager
def bad_api(target: str, manner: Manner, directory: Path, *, seed: int) -> Iterator[BadApi]:
    """The proxy, before the endpoint `target`, until the block ends. Where that speaks TLS so does
    the proxy, vouched for by an authority of its own in `directory`."""
    api = BadApi(target, manner, seed)
    handler = type("Handler", (_Handler,), {"api": api})
    with _Server(("127.0.0.1", 0), handler) as server:
        scheme = urlsplit(target).scheme
        if scheme == "https":
            api.ca_file, context = make_authority(directory, "127.0.0.1")
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        api.endpoint = f"{scheme}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
