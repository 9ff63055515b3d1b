from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from tests.rigs.flaky_proxy import FlakyProxy, flaky_proxy
from tests.rigs.sshd import Sshd, running_sshd

from diskbench.hosts.fake import FakeHost, Fault
from diskbench.hosts.local import LocalHost
from diskbench.hosts.ssh import SshHost
from diskbench.hosts.ssh_connect import Limits
from diskbench.ports import Host

QUICK = Limits(connect_s=5, banner_s=1, auth_s=5)


@dataclass(frozen=True)
class Breakable:
    """A host, and how to make its connection break once in the next call, or be refused."""

    host: Host
    cut: Callable[[int], None]
    refuse: Callable[[], None]


@pytest.fixture(scope="session")
def sshd(tmp_path_factory) -> Iterator[Sshd]:
    with running_sshd(tmp_path_factory.mktemp("sshd"), alias="direct") as server:
        yield server


@pytest.fixture
def proxy(sshd) -> Iterator[FlakyProxy]:
    with flaky_proxy(sshd.port) as proxy:
        yield proxy


@pytest.fixture
def ssh_config(sshd, proxy, tmp_path, monkeypatch):
    """An OpenSSH configuration with `direct` and, through the flaky proxy, `flaky`."""
    path = tmp_path / "ssh_config"
    path.write_text(sshd.config_block("direct") + sshd.config_block("flaky", port=proxy.port))
    monkeypatch.setenv("DISKBENCH_SSH_CONFIG", str(path))
    return path


@pytest.fixture(params=["local", "fake", "ssh"])
def host(request) -> Iterator[Host]:
    """Every kind of Host."""
    if request.param == "ssh":
        request.getfixturevalue("ssh_config")
    made: Host = {
        "local": LocalHost,
        "fake": FakeHost,
        "ssh": lambda: SshHost("direct"),
    }[request.param]()
    yield made
    made.close()


@pytest.fixture(params=["fake", "ssh"])
def breakable(request) -> Iterator[Breakable]:
    """Every kind of Host that has a connection."""
    if request.param == "fake":
        fake = FakeHost()
        yield Breakable(
            fake,
            cut=lambda n: fake.faults.append(Fault("cut", n)),
            refuse=lambda: (fake.close(), fake.faults.append(Fault("refuse"))),
        )
        return
    request.getfixturevalue("ssh_config")
    proxy: FlakyProxy = request.getfixturevalue("proxy")
    host = SshHost("flaky", limits=QUICK)

    def cut(after: int) -> None:
        proxy.cut_after_bytes = proxy.passed + after + 4000

    yield Breakable(host, cut=cut, refuse=proxy.refuse)
    host.close()
