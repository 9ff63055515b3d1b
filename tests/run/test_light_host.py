"""What one run starts on its host: little, since the host is what it measures."""

from pathlib import Path

from tests.rigs.cli import Cli, over_ssh
from tests.rigs.counted_host import counted_host

ONE_STEP = """\
[reads]
rw=randread
bs=4k
size=1m
ioengine=psync
rate_iops=200
time_based
runtime=1s
"""
MOST_PROCESSES = 62
"""How many processes and threads a run of one second may start, on a machine so busy that many
seconds pass. They are 44: 21 of sshd and the frames of commands, 14 of fio, which is asked, tried
without a disk and run; before 2026-11-28, when shell ran on the host, about 117."""
COMMANDS = 6
"""Facts and directory; fio's parser; directories and start, which is followed; the permission to
start fio; files; cleanup."""


def test_a_run_starts_few_processes_on_its_host(user: Cli, target: Path, tmp_path: Path) -> None:
    profile = tmp_path / "one.fio"
    profile.write_text(ONE_STEP)
    with counted_host(tmp_path / "sshd") as host:
        over_ssh(user, host.server.config_block("box"))
        before = host.counts()
        on_host = ("--provider", "ssh", "--host", "box", "--path", str(target))
        done = user.run("run", *on_host, "--profile", str(profile), "--quiet")
        assert done.returncode == 0, done.stderr
        started = host.counts().since(before)
    assert (started.connections, started.commands) == (1, COMMANDS)
    assert started.processes <= MOST_PROCESSES
