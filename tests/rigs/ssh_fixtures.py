"""Fixtures of a real sshd, alone and behind a flaky proxy; a conftest imports those it wants."""

import pytest
from tests.rigs.flaky_proxy import flaky_proxy
from tests.rigs.sshd import running_sshd

from diskbench.hosts.ssh_config import ConnectLimits

QUICK = ConnectLimits(connect_s=5, banner_s=2, auth_s=5)


@pytest.fixture(scope="session")
def sshd(tmp_path_factory):
    with running_sshd(tmp_path_factory.mktemp("sshd"), alias="direct") as server:
        yield server


@pytest.fixture
def proxy(sshd):
    with flaky_proxy(sshd.port) as proxy:
        yield proxy


@pytest.fixture
def ssh_config(sshd, proxy, tmp_path, monkeypatch):
    path = tmp_path / "ssh_config"
    path.write_text(sshd.config_block("direct") + sshd.config_block("flaky", port=proxy.port))
    monkeypatch.setenv("DISKBENCH_SSH_CONFIG", str(path))
    return path
