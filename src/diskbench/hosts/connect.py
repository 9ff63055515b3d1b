"""Hosts by address; imports no protocol until a connection is made."""

from diskbench.hosts.local import LocalHost
from diskbench.hosts.ssh import SshHost
from diskbench.ports import Host


def local_host() -> Host:
    """The machine diskbench runs on."""
    return LocalHost()


def ssh_host(address: str, config: str | None = None) -> Host:
    """The machine at USER@HOST[:PORT], by the OpenSSH configuration `config` or the user's own;
    connects at first use."""
    return SshHost(address, config=config)


def host_at(address: str, config: str | None = None) -> Host:
    """The host at an address, reached by the OpenSSH configuration `config` or the user's own; this
    machine where the address is empty. Connects at first use."""
    return ssh_host(address, config) if address else local_host()
