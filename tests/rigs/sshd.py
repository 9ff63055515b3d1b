"""A real sshd on 127.0.0.1 with its own host key and one authorised key; no PAM, no passwords."""

import contextlib
import getpass
import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

SSHD = "/usr/sbin/sshd"


@dataclass(frozen=True)
class Sshd:
    """A running server and what a client needs to know of it."""

    directory: Path
    port: int
    user: str
    pid: int

    @property
    def identity(self):
        return self.directory / "user_key"

    @property
    def host_public(self):
        return (self.directory / "host_key.pub").read_text().strip()

    @property
    def known_hosts(self):
        return self.directory / "known_hosts"

    def config_block(self, alias, *, port=None):
        """A `Host` block of an OpenSSH configuration that reaches this server as `alias`."""
        return (
            f"Host {alias}\n"
            f"  HostName 127.0.0.1\n  Port {port or self.port}\n  User {self.user}\n"
            f"  IdentityFile {self.identity}\n  IdentitiesOnly yes\n  IdentityAgent none\n"
            f"  HostKeyAlias {alias}-key-{self.port}\n"
            f"  UserKnownHostsFile {self.known_hosts}\n  GlobalKnownHostsFile /dev/null\n"
        )

    def trust(self, name):
        kind, key, *_ = self.host_public.split()
        with self.known_hosts.open("a") as file:
            file.write(f"{name} {kind} {key}\n")


def keygen(path):
    if not path.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


@contextlib.contextmanager
def running_sshd(directory, *, alias=None, extra="", env=None, around=()):
    """An sshd until the block ends. Its key is trusted under [127.0.0.1]:PORT and every alias of
    the form NAME-key-PORT that `config_block` writes. `env` is set for whoever logs in; `around` is
    a command that starts another, such as unshare."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    keygen(directory / "host_key")
    keygen(directory / "user_key")
    authorised = directory / "authorized_keys"
    authorised.write_text((directory / "user_key.pub").read_text())
    authorised.chmod(0o600)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    port = free_port()
    config = directory / "sshd_config"
    config.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {directory}/host_key\n"
        f"AuthorizedKeysFile {authorised}\nPidFile {directory}/sshd.pid\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin prohibit-password\nMaxStartups 100\nMaxSessions 50\nLogLevel ERROR\n"
        # The account's own ~/.bashrc, which bash reads under sshd, is no part of a test.
        f"SetEnv {' '.join(f'{k}={v}' for k, v in {'HOME': directory, **(env or {})}.items())}\n"
        f"AllowTcpForwarding yes\n{extra}\n"
    )
    log = (directory / "sshd.log").open("ab")
    argv = [*around, SSHD, "-D", "-e", "-f", str(config)]
    with log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _await_port(port, process, directory / "sshd.log")
        server = Sshd(directory, port, getpass.getuser(), process.pid)
        server.trust(f"[127.0.0.1]:{port}")
        server.trust(f"*-key-{port}")
        if alias:
            (directory / "ssh_config").write_text(server.config_block(alias))
        yield server
    finally:
        process.terminate()
        process.wait()


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _await_port(port, process, log):
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.01)  # between attempts to connect; the event itself is the connection
    raise RuntimeError(f"sshd did not start:\n{log.read_text()}")
