"""An sshd in a PID namespace of its own: what a run starts on its host can be counted exactly.

The kernel numbers the processes and threads of a namespace one after the other, so the newest
number is how many there were. Needs root."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.rigs.sshd import Sshd, running_sshd

_AROUND = (
    *("unshare", "--pid", "--fork", "--mount-proc", "--kill-child"),
    *("sh", "-c", 'exec "$0" -o LogLevel=VERBOSE "$@"'),  # it names each command that it starts
)


@dataclass(frozen=True)
class Counts:
    """What was started on a host: processes (threads included), commands over SSH, connections."""

    processes: int
    commands: int
    connections: int

    def since(self, before):
        return Counts(
            # Counting starts one itself.
            self.processes - before.processes - 1,
            self.commands - before.commands,
            self.connections - before.connections,
        )


@dataclass(frozen=True)
class CountedHost:
    server: Sshd

    @property
    def first(self):
        """The first process of the namespace, sshd, by its number outside."""
        around = self.server.pid
        return int(Path(f"/proc/{around}/task/{around}/children").read_text().split()[0])

    def counts(self):
        loadavg = subprocess.check_output(
            ["nsenter", "--target", str(self.first), "--pid", "cat", "/proc/loadavg"], text=True
        )
        log = (self.server.directory / "sshd.log").read_text()
        return Counts(
            int(loadavg.split()[-1]),
            log.count("Starting session: command"),
            log.count("Accepted publickey"),
        )


@contextlib.contextmanager
def counted_host(directory):
    """`running_sshd` in a PID namespace of its own, until the block ends."""
    with running_sshd(directory, around=_AROUND) as server:
        host = CountedHost(server)
        try:
            yield host
        finally:
            # unshare may block SIGTERM while it waits; a namespace ends with its first process.
            os.kill(host.first, signal.SIGKILL)
