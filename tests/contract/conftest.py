from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from tests.cloud.conftest import (
    aws,
    aws_server,
    azure,
    azure_server,
    gcp,
    gcp_server,
    vsphere,
    vsphere_server,
)
from tests.rigs.fake_host import FakeHost, Fault
from tests.rigs.flaky_proxy import FlakyProxy
from tests.rigs.ssh_fixtures import proxy, ssh_config, sshd

from diskbench.hosts.local import LocalHost
from diskbench.hosts.ssh import SshHost
from diskbench.ports import Host

__all__ = [
    "Breakable",
    "aws",
    "aws_server",
    "azure",
    "azure_server",
    "gcp",
    "gcp_server",
    "proxy",
    "ssh_config",
    "sshd",
    "vsphere",
    "vsphere_server",
]


@dataclass(frozen=True)
class Breakable:
    """A host, and how to make its connection break once in the next call, or be refused."""

    host: Host
    cut: Callable[[int], None]
    refuse: Callable[[], None]


@pytest.fixture(params=["local", "fake", "ssh"])
def host(request) -> Iterator[Host]:
    if request.param == "ssh":
        request.getfixturevalue("ssh_config")
    made: Host = {"local": LocalHost, "fake": FakeHost, "ssh": lambda: SshHost("direct")}[
        request.param
    ]()
    yield made
    made.close()


@pytest.fixture(params=["fake", "ssh"])
def breakable(request) -> Iterator[Breakable]:
    if request.param == "fake":
        fake = FakeHost()
        yield Breakable(
            fake,
            cut=lambda n: fake.faults.append(Fault("cut", n)),
            refuse=lambda: (fake.close(), fake.faults.append(Fault("refuse"))),
        )
        return
    request.getfixturevalue("ssh_config")
    between: FlakyProxy = request.getfixturevalue("proxy")
    host = SshHost("flaky")

    def cut(after: int) -> None:
        between.cut_after_bytes = between.passed + after + 4000

    yield Breakable(host, cut=cut, refuse=between.refuse)
    host.close()
