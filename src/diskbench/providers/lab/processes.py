"""The processes of a lab host: its own process 1, the supervisor beside it, and others, in one
cgroup. Each enters the group before it executes its program, so a release never misses one; a
process that finds the group gone ends."""

import contextlib
import errno
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import diskbench
from diskbench.providers.lab.places import LeaseFolder, base_directory, listens, refused
from diskbench.providers.lab.supervisor.rates import parse_orders, read_report

READY_WITHIN_S = 30.0
"""Seconds that a host may take to answer: hundreds of times its usual time; our choice."""
_MODULE = "diskbench.providers.lab.supervisor"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def sshd_path() -> str | None:
    """The absolute path of sshd, which sshd requires at its start."""
    return shutil.which("sshd", path=_PATH)


def start_host(place: LeaseFolder, group: Path, address: str, port: int) -> int:
    """Start host and supervisor, and wait until the host's sshd listens and the orders are in
    force; returns the host's process 1 by its number outside. Raises HostUnavailable with their
    output."""
    script = Path(__file__).with_name("host_init.py")
    argv = [
        "unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc",
        sys.executable, "-I", "-S", str(script), str(place.guest), sshd_path() or "sshd",
    ]  # fmt: skip
    log = place.path / "host.log"
    host = detached(group, log, argv, {})
    try:
        start_supervisor(place, group, host.pid)  # unshare ends with process 1
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline and host.poll() is None:
            init = init_of(group)
            if init is not None and listens(init, address, port):
                return init
            time.sleep(0.005)  # a listening socket shows in /proc only
    finally:
        reap(host)
    raise refused("host did not start", log=last_words(log))


def start_supervisor(place: LeaseFolder, group: Path, watched: int) -> None:
    """Start the supervisor, to end with the process `watched`, and wait until the orders are in
    force. Raises HostUnavailable."""
    log = place.path / "supervisor.log"
    process = detached_module(group, log, _MODULE, str(place.path), str(watched))
    try:
        await_orders(place, process)
    finally:
        reap(process)


def await_orders(place: LeaseFolder, process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until the supervisor follows the newest orders. Raises HostUnavailable."""
    generation = parse_orders(place.orders.read_text("utf-8")).generation
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        report = read_report(place.report)
        if report is not None and report[0] == generation:
            return
        if process is not None and process.poll() is not None:
            break
        time.sleep(0.005)  # the answer is a file
    words = last_words(place.path / "supervisor.log")
    raise refused("supervisor without an answer", words=words, place=place)


def supervisor_of(group: Path) -> int | None:
    """The supervisor's process number; None when it is gone."""
    return next((pid for pid in members(group) if _MODULE.encode() in words_of(pid)), None)


def words_of(pid: int) -> set[bytes]:
    """The words of a process's command line; none when it is gone."""
    try:
        return set(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"))
    except OSError:
        return set()


def detached(
    group: Path, log: Path, argv: list[str], env: dict[str, str]
) -> subprocess.Popen[bytes]:
    """Start a process in the host's group that outlives this one; its output goes into `log`."""
    # Our environment is not passed on: a host's users can read it.
    env = {"PATH": _PATH, "LC_ALL": "C", **env}
    with log.open("ab") as out:
        return subprocess.Popen(
            ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(group), *argv],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            env=env, cwd="/", start_new_session=True,
        )  # fmt: skip


def detached_module(group: Path, log: Path, *argv: str) -> subprocess.Popen[bytes]:
    """As `detached`, a module of ours with its arguments, by the bare interpreter."""
    package = Path(next(iter(diskbench.__path__))).parent
    env = {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    return detached(group, log, [sys.executable, "-S", "-P", "-m", *argv], env)


def last_words(log: Path) -> str:
    """The end of a process's output."""
    words = log.read_text("utf-8", "replace").strip().splitlines() if log.exists() else []
    return " / ".join(words[-3:]) or "it gave no reason"


def reap(process: subprocess.Popen[bytes]) -> None:
    """Collect the child's exit status in the background."""
    threading.Thread(target=process.wait, daemon=True, name=f"reap {os.getpid()}").start()


ROOT = Path("/sys/fs/cgroup")
EMPTY_WITHIN_S = 30.0
"""Seconds that killed processes may take to end; our choice."""


@dataclass(frozen=True)
class Groups:
    """The directories of this machine's cgroups: `tree` holds our groups; I/O limits are set in
    `throttle` with `version` 1, in the host's own group with version 2."""

    version: int
    tree: Path
    throttle: Path
    prefix: str

    def of(self, lease_id: str) -> Path:
        """The group of a lease, which may not exist."""
        return self.tree / (self.prefix + lease_id)

    def throttle_of(self, lease_id: str) -> Path:
        """The group in which the limits of a lease's disks are set."""
        return self.throttle if self.version == 1 else self.of(lease_id)

    def lease_ids(self) -> tuple[str, ...]:
        directories = self.tree.glob(f"{self.prefix}*/")
        return tuple(sorted(group.name.removeprefix(self.prefix) for group in directories))


def find_groups(root: Path = ROOT) -> Groups:
    """Find the cgroup trees of this machine. Raises HostUnavailable when none limits I/O."""
    throttle = root / "blkio"
    # Groups of another base directory belong to another user.
    digest = hashlib.sha256(os.fsencode(base_directory())).hexdigest()
    prefix = f"diskbench-lab-{digest[:6]}-"
    if (throttle / "blkio.throttle.read_bps_device").exists():
        # Beside cgroup v1 there may be a v2 tree without controllers: it can kill a whole group.
        for tree in (root / "unified", root / "pids", root / "freezer", throttle):
            if (tree / "cgroup.procs").exists() and os.access(tree, os.W_OK):
                return Groups(1, tree, throttle, prefix)
    controllers = root / "cgroup.controllers"
    if controllers.exists() and "io" in controllers.read_text("ascii").split():
        return Groups(2, root, root, prefix)
    raise refused("no limits of I/O", root=root)


def make_group(groups: Groups, lease_id: str) -> Path:
    """Make the group of a lease if missing, and return it. Raises HostUnavailable."""
    group = groups.of(lease_id)
    try:
        if groups.version == 2:
            control = groups.tree / "cgroup.subtree_control"
            if "io" not in control.read_text("ascii").split():
                control.write_text("+io", "ascii")
        group.mkdir(exist_ok=True)
    except OSError as error:
        raise refused("no cgroup", group=group, error=error) from error
    return group


def members(group: Path) -> tuple[int, ...]:
    """The processes in a group and the groups below it; empty when it is gone. A process outside
    our PID namespace reads as 0, which kill(2) takes for our own process group. It is left out."""
    pids: list[int] = []
    for file in (group / "cgroup.procs", *group.glob("**/cgroup.procs")):
        with contextlib.suppress(OSError):
            pids += map(int, file.read_text("ascii").split())
    return tuple(sorted(set(pids) - {0}))


def init_of(group: Path) -> int | None:
    """Process 1 of the host's own PID namespace, by its number outside; None when there is none."""
    for pid in members(group):
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
            if re.search(r"^NSpid:.*\s\d+\s+1$", status, re.MULTILINE):
                return pid
    return None


def remove_group(group: Path) -> None:
    """Kill the processes in the group and remove it; succeeds if it is gone. Processes about to
    enter find it missing and end. Raises ReleaseFailed naming the processes that did not die."""
    deadline = time.monotonic() + EMPTY_WITHIN_S
    while group.exists():
        kill_group(group)
        for child in sorted((path for path in group.glob("**/") if path != group), reverse=True):
            with contextlib.suppress(OSError):
                child.rmdir()
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
        if time.monotonic() > deadline:
            survivors = ", ".join(map(str, members(group))) or "unknown ones"
            raise refused("processes do not end", survivors=survivors, group=group)
        time.sleep(0.005)  # the kernel empties the group; cgroup v1 has no event to wait for


def kill_group(group: Path) -> None:
    """Kill the processes in the group without waiting for their end; succeeds if it is gone."""
    with contextlib.suppress(OSError):
        if (group / "cgroup.kill").exists():
            (group / "cgroup.kill").write_text("1", "ascii")
            return
    for pid in members(group):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
