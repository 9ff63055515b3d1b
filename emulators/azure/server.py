"""The emulated Azure as one thing: started, told where it is, stopped, with nothing left of it."""

import contextlib
import json
import os
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from emulators import guests
from emulators.azure import identity
from emulators.azure.authority import make_authority
from emulators.azure.call import Answer, Call, Refusal
from emulators.azure.cloud import SUBSCRIPTION, Cloud
from emulators.azure.dispatch import Hangup, answer
from emulators.guests import write_ssh_config

ADDRESS = "127.0.0.1"
REGION = "eastus"


@contextlib.contextmanager
def running(cloud: Cloud, *, port: int = 0) -> Iterator[str]:
    """Serve the cloud until the block ends; the endpoint's URL. Everything of it is gone then.

    One at a time in a process: the lab is found by an environment variable. Lab hosts of an earlier
    emulator that was killed in the same state directory are taken away first.
    """
    before = os.environ.get(guests.LAB_VARIABLE)
    os.environ[guests.LAB_VARIABLE] = str(cloud.state / "lab")
    try:
        _clear(cloud)
        write_ssh_config(cloud.ssh_config, {})
        _, context = make_authority(cloud.state, ADDRESS)
        with _Server((ADDRESS, port), _Requests) as server:
            server.cloud = cloud
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
            thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
            thread.start()
            try:
                yield server.base
            finally:
                server.shutdown()
                thread.join()
                _clear(cloud)
    finally:
        if before is None:
            del os.environ[guests.LAB_VARIABLE]
        else:
            os.environ[guests.LAB_VARIABLE] = before


def fresh(cloud: Cloud) -> None:
    """Everything as when it was started: nothing rented, nothing asked, nothing going wrong."""
    try:
        _clear(cloud)
    finally:
        with cloud.lock:
            cloud.faults.reset()
            write_ssh_config(cloud.ssh_config, {})


def environment(cloud: Cloud, endpoint: str, *, client: str = identity.CLIENT) -> dict[str, str]:
    """What a user of the cloud has in the environment: credentials, subscription, the certificate
    authority, the way to machines."""
    return {
        "AZURE_AUTHORITY_HOST": endpoint,
        "AZURE_TENANT_ID": identity.TENANT,
        "AZURE_CLIENT_ID": client,
        "AZURE_CLIENT_SECRET": identity.SECRET,
        "AZURE_SUBSCRIPTION_ID": SUBSCRIPTION,
        "REQUESTS_CA_BUNDLE": str(cloud.ca_file),
        "DISKBENCH_SSH_CONFIG": str(cloud.ssh_config),
    }


def left(cloud: Cloud) -> list[str]:
    """Everything that is rented in the cloud, or of it on this machine, in words."""
    with cloud.lock:
        found = [one["id"] for one in cloud.resources.values()]
    return sorted(found) + guests.left(cloud.state)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    cloud: Cloud

    @property
    def base(self) -> str:
        """The endpoint's URL."""
        return f"https://{ADDRESS}:{self.server_port}"


class _Requests(BaseHTTPRequestHandler):
    """One connection; each request is answered in one write."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = 60
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Say nothing: faults keep the record."""

    def handle(self) -> None:
        """Serve the connection; one that ends early is no error."""
        with contextlib.suppress(OSError):
            super().handle()

    def do_GET(self) -> None:
        """Answer any method."""
        cloud, base = self.server.cloud, self.server.base
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        given = identity.answer(cloud, self.command, path, content, base)
        if given is None:
            try:
                body = json.loads(content) if content else None
                word, _, token = (self.headers.get("Authorization") or "").partition(" ")
                query = dict(parse_qsl(parts.query))
                whose = token if word == "Bearer" else None
                given = answer(cloud, Call(self.command, path, query, body, base, whose))
            except Hangup:
                self.close_connection = True
                return
            except ValueError as error:
                given = Refusal("InvalidRequestContent", f"not JSON: {error}").answer()
        self._write(given)

    do_PUT = do_PATCH = do_POST = do_DELETE = do_GET  # noqa: N815

    def _write(self, given: Answer) -> None:
        content = b"" if given.body is None else json.dumps(given.body).encode()
        self.send_response(given.status)
        request = str(uuid.uuid4())
        headers = {
            "Cache-Control": "no-cache",
            "x-ms-request-id": request,
            "x-ms-correlation-request-id": request,
            **({"Content-Type": "application/json; charset=utf-8"} if content else {}),
            **given.headers,
            "Content-Length": str(len(content)),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()


def _clear(cloud: Cloud) -> None:
    """Take away every machine and every disk's content; raise what went wrong in the lab."""
    with cloud.lock:
        machines = list(cloud.machines.values())
        for machine in machines:
            machine.going = True
    for machine in machines:
        machine.queue.shutdown(wait=True, cancel_futures=True)
    with cloud.lock:
        for kept in (cloud.machines, cloud.reach, cloud.resources, cloud.secrets, cloud.powers):
            kept.clear()
        cloud.operations.known.clear()
        cloud.sightings.settle()
    for name in guests.names():
        guests.destroy(name)
    for image in Path(cloud.state, "disks").glob("*.img"):
        image.unlink()
    if errors := cloud.errors.copy():
        cloud.errors.clear()
        raise ExceptionGroup("the lab behind the emulator", errors)  # type: ignore[type-var]
