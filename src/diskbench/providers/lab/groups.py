"""One cgroup for each lab host: every process in it belongs to the lease."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from diskbench.errors import HostUnavailable, ReleaseFailed
from diskbench.providers.lab.places import base_directory

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
        """Every lease that has a group, sorted."""
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
    raise HostUnavailable(
        f"neither blkio.throttle (cgroup v1) nor io.max (v2) is under {root}",
        advice="the lab needs them to limit its disks; a container must be privileged",
    )


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
        raise HostUnavailable(
            f"cannot make the cgroup {group}: {error.strerror}",
            advice="run as root; a container must be privileged and have cgroups writable",
        ) from error
    return group


def members(group: Path) -> tuple[int, ...]:
    """The processes in a group and the groups below it; empty when it is gone.

    A process outside our PID namespace reads as 0, which kill(2) takes for our own process
    group. It is left out."""
    pids: list[int] = []
    for file in (group / "cgroup.procs", *group.glob("**/cgroup.procs")):
        with contextlib.suppress(OSError):
            pids += map(int, file.read_text("ascii").split())
    return tuple(sorted(set(pids) - {0}))


def init_of(group: Path) -> int | None:
    """Process 1 of the host's own PID namespace, by its number outside; None when there is none."""
    for pid in members(group):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines():
                if line.startswith("NSpid:"):
                    numbers = line.split()[1:]
                    if len(numbers) > 1 and numbers[-1] == "1":
                        return pid
    return None


def remove_group(group: Path) -> None:
    """Kill the processes in the group and remove it; succeeds if it is gone.

    Processes about to enter find it missing and end. Raises ReleaseFailed naming the processes
    that did not die.
    """
    deadline = time.monotonic() + EMPTY_WITHIN_S
    while group.exists():
        kill_group(group)
        _remove_below(group)
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
        if time.monotonic() > deadline:
            survivors = ", ".join(map(str, members(group))) or "unknown ones"
            raise ReleaseFailed(
                f"processes {survivors} of a lab host do not end",
                advice=f"they are in {group}; they may wait for a device",
            )
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


def _remove_below(group: Path) -> None:
    below = sorted((p for p in group.glob("**/") if p != group), reverse=True)
    for child in below:
        with contextlib.suppress(OSError):
            child.rmdir()
