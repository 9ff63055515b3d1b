"""The emulated Compute Engine over HTTP, and the token server of its service accounts."""

import base64
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from emulators.gcp import constraints, iap, rights
from emulators.gcp.answer import answer
from emulators.gcp.call import LostAnswer, Refusal
from emulators.gcp.cloud import Cloud

ADDRESS = "127.0.0.1"
TOKEN_PATH = "/token"  # noqa: S105 - a path


@contextlib.contextmanager
def served(cloud: Cloud, port: int) -> Iterator[str]:
    """Serve until the block ends; the URL."""

    class Bound(_Handler):
        emulated = cloud

    server = _Server((ADDRESS, port), Bound)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://{ADDRESS}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.end_connections()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        """Let go of clients that keep their connection."""
        for one in list(self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    emulated: ClassVar[Cloud]

    def log_message(self, *_: object) -> None:
        """The record of requests is in the faults."""

    def do_GET(self) -> None:
        """Serve any verb."""
        self._serve()

    def do_POST(self) -> None:
        """As GET."""
        self._serve()

    def do_PATCH(self) -> None:
        """As GET."""
        self._serve()

    def do_DELETE(self) -> None:
        """As GET."""
        self._serve()

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if parts.path == TOKEN_PATH:
            self._write(200, _token(dict(parse_qsl(body.decode()))))
            return
        try:
            caller = _caller(self.headers.get("authorization", ""))
        except Refusal as refusal:
            self._write(refusal.status, refusal.body())
            return
        try:
            status, told = (
                rights.answer(self.emulated, parts.path, body, caller)
                or constraints.answer(self.emulated, parts.path, caller)
                or iap.answer(self.emulated, parts.path, query, caller)
                or answer(self.emulated, self.command, parts.path, query, body, caller)
            )
        except LostAnswer:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        except Exception as error:  # noqa: BLE001 - kept, and raised by whoever stops it
            self.emulated.errors.append(error)
            status, told = 500, Refusal(500, "internalError", repr(error)).body()
        self._write(status, told)

    def _write(self, status: int, told: dict[str, Any]) -> None:
        data = json.dumps(told).encode()
        # In one write: two would wait for each other's acknowledgement (Nagle), 40 ms each time.
        head = (
            f"HTTP/1.1 {status} \r\nContent-Type: application/json; charset=UTF-8\r\n"
            f"Date: {formatdate(usegmt=True)}\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(head.encode() + data)


def _caller(authorization: str) -> str:
    """Who asks: whom the bearer token names. Its signature is not checked. Raises Refusal."""
    kind, _, token = authorization.partition(" ")
    if kind != "Bearer" or not token:
        message = (
            "Request is missing required authentication credential. Expected OAuth 2 access token, "
            "login cookie or other valid authentication credential."
        )
        raise Refusal(401, "required", message)
    return str(_claims(token).get("sub", token))


def _token(form: dict[str, str]) -> dict[str, Any]:
    """A token for whoever asks: it is the name itself, as long as it is unsigned."""
    subject = _claims(form.get("assertion", "")).get("iss", "somebody@example.com")
    return {"access_token": subject, "token_type": "Bearer", "expires_in": 3600}


def _claims(token: str) -> dict[str, Any]:
    """What a JSON web token says; nothing when it is none."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        found = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
