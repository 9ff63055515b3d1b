"""HTTPS_PROXY and NO_PROXY count for what diskbench asks itself."""

from types import SimpleNamespace

import pytest
import urllib3

from diskbench.errors import InvalidValue
from diskbench.providers.networks import caller_cidr, proxy_for


@pytest.fixture(autouse=True)
def no_proxy_of_the_tester(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize("no_proxy", ["", "cloud.example"])
def test_the_address_of_a_proxy_is_not_taken_for_the_own_one(monkeypatch, no_proxy):
    """SSH does not go through it: the machine would be open to another network, and unreachable."""
    monkeypatch.setenv("HTTPS_PROXY", "http://user:geheim@127.0.0.1:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    with pytest.raises(InvalidValue) as refused:
        caller_cidr()
    assert "proxy 127.0.0.1:3128" in refused.value.message
    for says in ("--ssh-cidr", "checkip.amazonaws.com to NO_PROXY"):
        assert says in refused.value.advice
    assert "geheim" not in str(refused.value)


def test_a_host_in_no_proxy_is_asked_for_the_own_address(monkeypatch):
    asked: list[str] = []

    def request(_: object, method: str, url: str, **__: object) -> SimpleNamespace:
        asked.append(f"{method} {url}")
        return SimpleNamespace(data=b"203.0.113.7\n")

    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
    monkeypatch.setenv("NO_PROXY", ".amazonaws.com")
    monkeypatch.setattr(urllib3.PoolManager, "request", request)
    assert caller_cidr() == "203.0.113.7/32"
    assert asked == ["GET https://checkip.amazonaws.com"]


def test_the_login_of_a_proxy_is_sent_to_it(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://user:p%40ss@127.0.0.1:3128")
    found = proxy_for("https://vc.example")
    assert found.headers == {"proxy-authorization": "Basic dXNlcjpwQHNz"}
    assert "dXNl" not in repr(found)


@pytest.mark.parametrize(
    ("no_proxy", "through"), [("", True), ("other.example", True), ("vc.example", False),
                              (".example", False), ("*", False)]
)  # fmt: skip
def test_no_proxy_counts(monkeypatch, no_proxy, through):
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    found = proxy_for("https://vc.example:443/sdk")
    assert (found and (found.host, found.port)) == (("proxy.example", 3128) if through else None)


def test_what_is_no_proxy_is_refused_and_not_shown(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:geheim@proxy.example")
    with pytest.raises(InvalidValue) as refused:
        proxy_for("https://vc.example")
    assert "geheim" not in str(refused.value) + refused.value.advice
