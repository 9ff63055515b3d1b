from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest
from tests.cloud.conftest import aws as aws
from tests.cloud.conftest import aws_server as aws_server
from tests.cloud.conftest import azure as azure
from tests.cloud.conftest import azure_server as azure_server
from tests.cloud.conftest import gcp as gcp
from tests.cloud.conftest import gcp_server as gcp_server
from tests.cloud.conftest import vsphere as vsphere
from tests.cloud.conftest import vsphere_server as vsphere_server
from tests.rigs.fake_host import FakeHost, Fault
from tests.rigs.ssh_fixtures import proxy as proxy
from tests.rigs.ssh_fixtures import ssh_config as ssh_config
from tests.rigs.ssh_fixtures import sshd as sshd

from diskbench.hosts.local import LocalHost
from diskbench.hosts.ssh import SshHost
from diskbench.ports import Host


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
    kinds = {"local": LocalHost, "fake": FakeHost, "ssh": partial(SshHost, "direct")}
    made = kinds[request.param]()
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
    between = request.getfixturevalue("proxy")
    host = SshHost("flaky")

    def cut(after: int) -> None:
        between.cut_after_bytes = between.passed + after + 4000

    yield Breakable(host, cut=cut, refuse=between.refuse)
    host.close()
