"""Whether a create of a lease may still be unlisted, and listing again until it must show.

A create leaves its time in the lease's directory on the machine that sent it. EC2 lists a new
resource after seconds, not at once (Amazon EC2 Developer Guide, "Eventual consistency").
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from diskbench.providers.aws.inventory import inventory_by_all
from diskbench.providers.places import lease_directory
from diskbench.providers.waits import nap

if TYPE_CHECKING:
    from pathlib import Path

    from diskbench.model.ours import Which
    from diskbench.providers.aws.client import AwsClient
    from diskbench.providers.aws.inventory import AwsInventory
    from diskbench.providers.aws.timing import AwsTiming


def note_create(lease_id: str) -> None:
    """Record that a create of the lease is sent now."""
    mark = _mark(lease_id)
    mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark.touch()


def settled(ec2: AwsClient, which: Which, timing: AwsTiming, found: AwsInventory) -> AwsInventory:
    """`found`, an empty listing of the lease, or what is listed later: it is asked again until
    `settle_s` seconds have passed since the last create, where one may have been sent. Raises
    diskbench's errors."""
    left = _left_s(which, timing)
    end, looks = time.monotonic() + left, 0
    while left > 0 and not found.names():
        if looks >= timing.settle_looks and time.monotonic() >= end:
            break
        nap(min(timing.first_poll_s * 1.5**looks, timing.max_poll_s), timing, None)
        found, looks = inventory_by_all(ec2, which), looks + 1
    return found


def _left_s(which: Which, timing: AwsTiming) -> float:
    """Seconds for which a create of the lease may still be unlisted. Where this machine sent none,
    another may have; a lease whose resources were recorded was listed whole."""
    if which.copied:
        return 0.0
    try:
        sent = _mark(which.lease_id).stat().st_mtime
    except FileNotFoundError:
        return 0.0 if which.made else timing.settle_s
    return timing.settle_s - (time.time() - sent)


def _mark(lease_id: str) -> Path:
    return lease_directory(lease_id) / "last-create"
