"""Serves what a guest finds at link-local addresses, on a port that QEMU forwards."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from emulators.guest_side import Asked, Server


@contextmanager
def served(server: Server, held: Callable[[Asked], float] = lambda _: 0.0) -> Iterator[int]:
    """The port at which `server` answers; `held` says how long an answer is kept back."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            address = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(
                self.command,
                address.path,
                dict(parse_qsl(address.query, keep_blank_values=True)),
                {name.lower(): value for name, value in self.headers.items()},
                body,
            )
            if over.wait(held(asked)):
                return  # nobody is there to hear it
            answer = server(asked)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            with suppress(ConnectionError):  # the guest is switched off at any moment
                self.end_headers()
                self.wfile.write(answer.body)

        do_GET = do_POST = do_PUT = do_HEAD = _serve  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield http.server_port
        finally:
            over.set()
            http.shutdown()
            thread.join()
