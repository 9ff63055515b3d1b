"""The processes of a lab host: its own process 1, the supervisor beside it, and others.

Each enters the host's group before it executes its program, so a release never misses one; a
process that finds the group gone ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import diskbench
from diskbench.errors import HostUnavailable
from diskbench.providers.lab.address import listens
from diskbench.providers.lab.groups import init_of, members
from diskbench.providers.lab.supervisor.orders import parse_orders, read_report

if TYPE_CHECKING:
    from diskbench.providers.lab.places import LeaseFolder

READY_WITHIN_S = 30.0
"""Seconds that a host may take to answer: hundreds of times its usual time; our choice."""
_MODULE = "diskbench.providers.lab.supervisor"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def sshd_path() -> str | None:
    """The absolute path of sshd, which sshd requires at its start."""
    return shutil.which("sshd", path=_PATH)


def start(place: LeaseFolder, group: Path, address: str, port: int) -> int:
    """Start host and supervisor, and wait until the host's sshd listens and the orders are in
    force; returns the host's process 1 by its number outside.

    Raises HostUnavailable with their output.
    """
    script = Path(__file__).with_name("host.sh")
    host = detached(
        group,
        place.path / "host.log",
        ["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc",
         "sh", str(script), str(place.guest), sshd_path() or "sshd"],
        {},
    )  # fmt: skip
    try:
        start_supervisor(place, group, host.pid)  # unshare ends with process 1
        return _await_host(place, group, address, port, host)
    finally:
        reap(host)


def start_supervisor(place: LeaseFolder, group: Path, watched: int) -> None:
    """Start the supervisor, to end with the process `watched`, and wait until the orders are in
    force. Raises HostUnavailable."""
    package = Path(next(iter(diskbench.__path__))).parent
    process = detached(
        group,
        place.path / "supervisor.log",
        [sys.executable, "-S", "-P", "-m", _MODULE, str(place.path), str(watched)],
        {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    try:
        await_orders(place, process)
    finally:
        reap(process)


def _await_host(
    place: LeaseFolder, group: Path, address: str, port: int, host: subprocess.Popen[bytes]
) -> int:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline and host.poll() is None:
        init = init_of(group)
        if init is not None and listens(init, address, port):
            return init
        time.sleep(0.005)  # a listening socket shows in /proc only
    raise HostUnavailable(
        f"the lab host did not start: {last_words(place.path / 'host.log')}",
        advice="the lab needs root, namespaces and mounts; a container must be privileged",
    )


def await_orders(place: LeaseFolder, process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until the supervisor follows the newest orders. Raises HostUnavailable."""
    generation = parse_orders(place.orders.read_text("utf-8")).generation
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        report = read_report(place.report)
        if report is not None and report.generation == generation:
            return
        if process is not None and process.poll() is not None:
            break
        time.sleep(0.005)  # the answer is a file
    raise HostUnavailable(
        f"the lab's supervisor does not answer: {last_words(place.path / 'supervisor.log')}",
        advice=f"give the host back: diskbench gc {place.lease_id}",
    )


def supervisor_of(group: Path) -> int | None:
    """The supervisor's process number; None when it is gone."""
    for pid in members(group):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if _MODULE.encode() in words:
            return pid
    return None


def detached(
    group: Path, log: Path, argv: list[str], env: dict[str, str]
) -> subprocess.Popen[bytes]:
    """Start a process in the host's group that outlives this one; its output goes into `log`."""
    with log.open("ab") as out:
        return subprocess.Popen(
            ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(group), *argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            # Our environment is not passed on: a host's users can read it.
            env={"PATH": _PATH, "LC_ALL": "C", **env},
            cwd="/",
            start_new_session=True,
        )


def last_words(log: Path) -> str:
    """The end of a process's output."""
    words = log.read_text("utf-8", "replace").strip().splitlines() if log.exists() else []
    return " / ".join(words[-3:]) or "it gave no reason"


def reap(process: subprocess.Popen[bytes]) -> None:
    """Collect the child's exit status in the background."""
    threading.Thread(target=process.wait, daemon=True, name=f"reap {os.getpid()}").start()
