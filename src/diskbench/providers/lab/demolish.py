"""Removal of one lab host by its name, in whatever state it is."""

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
    """Remove everything but the directory and its record: processes, limits, devices, address,
    files.

    The processes first: the host's mounts end with them, nothing writes limits any more, and
    requests waiting for a slow disk's server fail. The limits are removed before the processes'
    end is awaited: their last writes are still flushed, at full speed.
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
            # A second time: the supervisor may have been writing limits when it was killed.
            if throttle.exists():
                write_limits(groups.version, str(throttle), loop.number, NO_LIMITS)
            loops.detach(loop)
        except ReleaseFailed as error:
            failures.append(error)
    if failures:
        raise ReleaseFailed(
            "; ".join(error.message for error in failures), advice=failures[0].advice
        )
    # Not earlier: after the unmount a loop device can no longer be found by its file.
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
    """Remove the record and the directory, last of all: until then the lease can be found."""
    here.record.unlink(missing_ok=True)
    here.path.rmdir()
