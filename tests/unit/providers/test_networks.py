"""HTTPS_PROXY and NO_PROXY count for what diskbench asks itself."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from diskbench.errors import HostUnavailable, InvalidValue
from diskbench.providers.networks import caller_cidr, proxy_for


@dataclass
class Listener:
    """A proxy that notes what it is asked for and refuses it."""

    port: int = 0
    asked: list[bytes] = field(default_factory=list)


@pytest.fixture(autouse=True)
def no_proxy_of_the_tester(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def proxy() -> Iterator[Listener]:
    found = Listener()
    with socket.create_server(("127.0.0.1", 0)) as server:
        found.port = server.getsockname()[1]

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    found.asked.append(client.recv(4096))
                    client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield found
        server.shutdown(socket.SHUT_RDWR)


def test_the_own_address_is_asked_through_the_proxy(proxy, monkeypatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:p%40ss@127.0.0.1:{proxy.port}")
    with pytest.raises(HostUnavailable):
        caller_cidr()
    assert proxy.asked[0].startswith(b"CONNECT checkip.amazonaws.com:443 ")
    login = base64.b64encode(b"user:p@ss")
    assert b"basic " + login in proxy.asked[0].lower().replace(login.lower(), login)


@pytest.mark.parametrize(
    ("no_proxy", "through"), [("", True), ("other.example", True), ("vc.example", False),
                              (".example", False), ("*", False)]
)  # fmt: skip
def test_no_proxy_counts(monkeypatch, no_proxy: str, through: bool) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    found = proxy_for("https://vc.example:443/sdk")
    assert (found is not None) is through
    if found is not None:
        assert (found.host, found.port) == ("proxy.example", 3128)


def test_what_is_no_proxy_is_refused_and_not_shown(monkeypatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:geheim@proxy.example")
    with pytest.raises(InvalidValue) as refused:
        proxy_for("https://vc.example")
    assert "geheim" not in str(refused.value) + refused.value.advice
