"""A cloud that does not answer is asked again for as long as there is patience, and then told; how
long a machine without a hypervisor is waited for. HTTPS_PROXY and NO_PROXY count for diskbench."""

import dataclasses
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import urllib3

from diskbench.errors import HostUnavailable, Interrupted, InvalidValue, NoCapacity, Unanswered
from diskbench.providers.aws.client import AwsTiming
from diskbench.providers.gcp.client import GceTiming
from diskbench.providers.gcp.disk_request import GcpMachine
from diskbench.providers.networks import caller_cidr, proxy_for
from diskbench.providers.waits import CloudTiming, repeated, while_looking
from diskbench.testing.rig import RigOnlooker

SHORT = CloudTiming(first_retry_s=0.001, max_retry_s=0.002, retry_s=30.0)


def answers(*given):
    """A call that raises or gives these, one after the other."""
    return Mock(side_effect=given)


def test_a_call_that_failed_on_the_way_is_made_again_and_one_that_was_refused_is_not():
    assert repeated(answers(Unanswered("no"), Unanswered("no"), 7), SHORT, None) == 7
    with pytest.raises(NoCapacity):
        repeated(answers(NoCapacity("none"), 7), SHORT, None)

    def again(error):
        return isinstance(error, NoCapacity)

    assert repeated(answers(NoCapacity("none"), 7), SHORT, None, again) == 7
    with pytest.raises(Unanswered):
        repeated(answers(Unanswered("no"), 7), SHORT, None, again)


def test_patience_ends_with_the_last_error_and_who_is_told_to_stop_asks_no_more():
    with pytest.raises(Unanswered, match="first"):
        repeated(answers(Unanswered("first"), 7), CloudTiming(retry_s=0.0), None)
    watch = RigOnlooker()
    watch.stop.set()
    with pytest.raises(Interrupted):
        repeated(answers(Unanswered("no"), 7), SHORT, watch)
    reading = CloudTiming().for_reading()
    assert reading.retry_s == CloudTiming().look_s
    assert reading.ssh_s == CloudTiming().ssh_s


def test_silence_is_the_users_environment_while_there_is_no_run_to_resume():
    for look_at, advice in (("look at the network", "look at the network"), ("", "try again")):
        with pytest.raises(HostUnavailable) as told, while_looking():
            raise Unanswered("no answer", look_at=look_at)
        assert told.value.advice == advice


@pytest.mark.parametrize("usual", [AwsTiming(), GceTiming()], ids=["aws", "gcp"])
def test_it_is_waited_for_longer(usual):
    metal = usual.for_bare_metal()
    assert metal.instance_s == metal.ssh_s == metal.ready_s == usual.metal_s > usual.ssh_s
    assert dataclasses.replace(usual, ssh_s=9000.0).for_bare_metal().ssh_s == 9000.0
    assert metal.delete_s == usual.delete_s


def test_googles_names_tell_it():
    for name, is_metal in (("c3-standard-192-metal", True), ("c3-standard-8", False)):
        machine = GcpMachine(type=name, arch="x86_64", vcpus=4, memory_bytes=1, max_disks=1)
        assert machine.bare_metal is is_metal


@pytest.fixture(autouse=True)
def no_proxy_of_the_tester(monkeypatch):
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

    def request(_, method, url, **__):
        asked.append(f"{method} {url}")
        return SimpleNamespace(data=b"203.0.113.7\n")

    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
    monkeypatch.setenv("NO_PROXY", ".amazonaws.com")
    monkeypatch.setattr(urllib3.PoolManager, "request", request)
    assert caller_cidr() == "203.0.113.7/32"
    assert asked == ["GET https://checkip.amazonaws.com"]


def test_the_login_of_a_proxy_is_sent_to_it_and_what_is_none_refused_and_not_shown(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://user:p%40ss@127.0.0.1:3128")
    found = proxy_for("https://vc.example")
    assert found.headers == {"proxy-authorization": "Basic dXNlcjpwQHNz"}
    assert "dXNl" not in repr(found)
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:geheim@proxy.example")
    with pytest.raises(InvalidValue) as refused:
        proxy_for("https://vc.example")
    assert "geheim" not in str(refused.value) + refused.value.advice


@pytest.mark.parametrize(
    ("no_proxy", "through"), [("", True), ("other.example", True), ("vc.example", False),
                              (".example", False), ("*", False)]
)  # fmt: skip
def test_no_proxy_counts(monkeypatch, no_proxy, through):
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    found = proxy_for("https://vc.example:443/sdk")
    assert (found and (found.host, found.port)) == (("proxy.example", 3128) if through else None)
