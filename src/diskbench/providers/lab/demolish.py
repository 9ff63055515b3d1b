"""Taking one lab host away, found by its name: whatever is there, in whatever state."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from diskbench.errors import ReleaseFailed
from diskbench.providers.lab import address as addresses
from diskbench.providers.lab import groups as cgroups
from diskbench.providers.lab import loops
from diskbench.providers.lab.latency.mounts import unmount
from diskbench.providers.lab.throttle import NO_LIMITS, write_limits

if TYPE_CHECKING:
    from diskbench.providers.lab.groups import Groups
    from diskbench.providers.lab.places import LeaseFolder


def demolish(here: LeaseFolder, groups: Groups) -> None:
    """Everything but the directory and its record: processes, limits, devices, address, files.

    The processes first: with them go the host's mounts, nobody writes limits any more, and what
    waits for a slow disk's server fails instead. The limits go before they are waited for: what
    they wrote last is still written, and need not be slow.
    """
    group, throttle = groups.of(here.lease_id), groups.throttle_of(here.lease_id)
    cgroups.kill_group(group)
    for loop in loops.find(here.path):
        if throttle.exists():
            write_limits(groups.version, str(throttle), loop.number, NO_LIMITS)
    cgroups.remove_group(group)
    failures = []
    for loop in loops.find(here.path):
        try:
            # Once more: the supervisor may have been at it when it was killed.
            if throttle.exists():
                write_limits(groups.version, str(throttle), loop.number, NO_LIMITS)
            loops.detach(loop)
        except ReleaseFailed as error:
            failures.append(error)
    if failures:
        raise ReleaseFailed(
            "; ".join(error.message for error in failures), advice=failures[0].advice
        )
    # Not before: a loop device on what is unmounted can no longer be found by its file.
    unmount(here.path)
    addresses.give_up(here)
    for entry in here.path.iterdir():
        if entry == here.record:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def remove(here: LeaseFolder) -> None:
    """The record and the directory, last of all: until then the lease can be found."""
    here.record.unlink(missing_ok=True)
    here.path.rmdir()
