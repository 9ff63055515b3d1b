"""Keeps the exchanges of a session while a recording is in progress. It does not include the
login, which was sent before."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import Any

from diskbench.providers import recorder


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
        """As http.client.HTTPConnection.request."""
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
        """As http.client.HTTPResponse.getheader."""
        value: str | None = self._response.getheader(name, default)
        return value

    def text(self) -> bytes:
        """The content without its compression."""
        encoding = str(self.getheader("Content-Encoding", "identity")).lower()
        if encoding == "gzip":
            return gzip.decompress(self._content)
        return zlib.decompress(self._content) if encoding == "deflate" else self._content
