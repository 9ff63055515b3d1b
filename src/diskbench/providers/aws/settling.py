"""Whether a create of a lease may still be unlisted, and listing again until it must show.

A create leaves its time in the lease's directory on the machine that sent it. EC2 lists a new
resource after seconds, not at once (Amazon EC2 Developer Guide, "Eventual consistency").
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from diskbench.providers.aws.inventory import expiry_of, inventory_by_all
from diskbench.providers.places import lease_directory
from diskbench.providers.waits import nap

if TYPE_CHECKING:
    from pathlib import Path

    from diskbench.model.ours import Which
    from diskbench.providers.aws.client import AwsClient
    from diskbench.providers.aws.inventory import AwsInventory
    from diskbench.providers.aws.timing import AwsTiming


_TIMES = ("LaunchTime", "CreateTime")
"""The fields in which EC2 says when a resource was made."""


def note_create(lease_id: str) -> None:
    """Record that a create of the lease is sent now."""
    mark = _mark(lease_id)
    mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark.touch()


def settled(
    ec2: AwsClient, which: Which, timing: AwsTiming, found: AwsInventory, first: AwsInventory
) -> AwsInventory:
    """`found`, an empty listing of the lease, or what is listed later: it is asked again until
    `settle_s` seconds have passed since the last create, where one may have been sent. `first` is
    the listing with which the release began. Raises diskbench's errors."""
    left = _left_s(which, timing, first)
    end, looks = time.monotonic() + left, 0
    while left > 0 and not found.names():
        if looks >= timing.settle_looks and time.monotonic() >= end:
            break
        nap(min(timing.first_poll_s * 1.5**looks, timing.max_poll_s), timing, None)
        found, looks = inventory_by_all(ec2, which), looks + 1
    return found


def _left_s(which: Which, timing: AwsTiming, first: AwsInventory) -> float:
    """Seconds for which a create of the lease may still be unlisted. Where this machine sent none,
    another may have: then the things that are listed say when. A lease that expired, or whose
    resources were recorded, makes nothing any more."""
    if which.copied:
        return 0.0
    try:
        sent = _mark(which.lease_id).stat().st_mtime
    except FileNotFoundError:
        if which.made:
            return 0.0
        items = [item for _, item in first.things()]
        if any((expiry_of(item) or math.inf) <= time.time() for item in items):
            return 0.0
        made = [item[key].timestamp() for item in items for key in _TIMES if key in item]
        sent = max(made, default=time.time())
    # Where this machine's clock is behind the cloud's, a create seems to lie in the future.
    return timing.settle_s - max(0.0, time.time() - sent)


def _mark(lease_id: str) -> Path:
    return lease_directory(lease_id) / "last-create"
