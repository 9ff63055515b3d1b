"""The address of vCenter, its credentials and certificates, the login, and the record of a
session's exchanges while a recording is in progress. It does not include the login, which was
sent before."""

from __future__ import annotations

import gzip
import io
import os
import ssl
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from diskbench.model.options import RentSpec
from diskbench.model.rental import Scope
from diskbench.providers import recorder, waits
from diskbench.providers.networks import proxy_for
from diskbench.providers.vsphere.disk_request import server_url
from diskbench.providers.vsphere.errors import refused, sdk
from diskbench.providers.vsphere.plugin import VsphereOptions

SERVER_VARIABLE = "VSPHERE_SERVER"
USER_VARIABLE = "VSPHERE_USER"
PASSWORD_VARIABLE = "VSPHERE_PASSWORD"  # noqa: S105 - the variable's name


@dataclass(frozen=True)
class VsphereServer:
    """The address of vCenter (or one ESXi host), and how its certificate is verified."""

    url: str
    ca_file: str | None = None
    insecure: bool = False


def server_of(spec: RentSpec) -> VsphereServer:
    """The server of a spec, or the environment's. Raises InvalidValue where neither names one."""
    typed = VsphereOptions.of(spec)
    return VsphereServer(
        _url_of(spec.endpoint_url),
        str(Path(typed.ca_file).expanduser().absolute()) if typed.ca_file else None,
        typed.insecure,
    )


def _url_of(endpoint: str | None) -> str:
    url = endpoint or os.environ.get(SERVER_VARIABLE)
    if not url:
        raise refused("no server")
    return server_url(url)


def server_in(scope: Scope) -> VsphereServer:
    """The server of a scope, or the environment's."""
    return VsphereServer(_url_of(scope.endpoint), scope.ca_file, scope.insecure)


def connect(server: VsphereServer, credentials: tuple[str, str], trust: ssl.SSLContext) -> Any:  # noqa: ANN401 - its types are made at run time
    """A service instance of pyVmomi, logged in. Raises what pyVmomi does, and ConnectionError for a
    server of another protocol."""
    parts, proxy = urlsplit(server.url), proxy_for(server.url)
    user, password = credentials
    more: dict[str, Any] = {}  # pyVmomi does not read HTTPS_PROXY itself
    if proxy is not None:
        more = {"httpProxyHost": proxy.host, "httpProxyPort": proxy.port}
        more |= {"customHeaders": dict(proxy.headers)} if proxy.headers else {}
    # The context is always given: without one pyVmomi verifies no certificate at this machine's
    # own addresses.
    more |= {"sslContext": trust, "httpConnectionTimeout": waits.ANSWER_S}
    smart_connect = sdk("SmartConnect", "pyVim.connect")
    try:
        return smart_connect(host=parts.hostname, port=parts.port, user=user, pwd=password, **more)
    except Exception as error:
        # pyVim raises a bare Exception for a server of another protocol.
        if type(error) is Exception:
            raise ConnectionError(str(error)) from error
        raise


def credentials() -> tuple[str, str]:
    """User and password of the environment. Raises AccessDenied without them."""
    user, password = (os.environ.get(name) for name in (USER_VARIABLE, PASSWORD_VARIABLE))
    if not user or not password:
        missing = USER_VARIABLE if not user else PASSWORD_VARIABLE
        raise refused("no credentials", missing=missing)
    return user, password


def trust_in(server: VsphereServer) -> ssl.SSLContext:
    """How the server's certificate is verified. Raises HostUnavailable for a file without
    certificates."""
    try:
        trust = ssl.create_default_context(cafile=server.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise refused("certificates unusable", server=server, error=error) from error
    if server.insecure:
        trust.check_hostname = False
        trust.verify_mode = ssl.CERT_NONE
    return trust


def record(stub: Any) -> None:  # noqa: ANN401 - a SoapStubAdapter of pyVmomi
    """Have the exchanges of a SOAP stub kept. pyVmomi has no hook for answers, so its connections
    are wrapped."""
    if not recorder.is_recording():
        return
    connect = stub.GetConnection

    def connected() -> _Recorded:
        connection = connect()
        return connection if isinstance(connection, _Recorded) else _Recorded(connection)

    stub.GetConnection = connected


class _Recorded:
    """A connection of http.client that notes each request with its answer."""

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 - as `record`
        self._connection = connection
        self._asked: tuple[str, str, bytes, dict[str, str]] = ("", "", b"", {})

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the connection has
        return getattr(self._connection, name)

    def request(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> None:
        self._asked = method, path, body, headers
        self._connection.request(method, path, body, headers)

    def getresponse(self) -> _Answer:
        """As http.client.HTTPConnection.getresponse, with the whole answer read."""
        response = self._connection.getresponse()
        answer = _Answer(response, response.read())
        method, path, body, headers = self._asked
        recorder.note(
            method=method, url=path, sent=headers, asked=body,
            status=answer.status, headers=dict(response.getheaders()), body=answer.text(),
        )  # fmt: skip
        return answer


class _Answer(io.BytesIO):
    """An answer that was read already, with what pyVmomi asks of one."""

    def __init__(self, response: Any, content: bytes) -> None:  # noqa: ANN401 - an HTTPResponse
        super().__init__(content)
        self._response = response
        self._content = content
        self.status, self.reason = response.status, response.reason

    def getheader(self, name: str, default: str | None = None) -> str | None:
        value: str | None = self._response.getheader(name, default)
        return value

    def text(self) -> bytes:
        """The content without its compression."""
        encoding = str(self.getheader("Content-Encoding", "identity")).lower()
        if encoding == "gzip":
            return gzip.decompress(self._content)
        return zlib.decompress(self._content) if encoding == "deflate" else self._content
