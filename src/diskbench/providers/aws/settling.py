"""How long a create of a lease may still be unlisted.

A create leaves its time in the lease's directory on the machine that sent it. EC2 lists a new
resource after seconds, not at once (Amazon EC2 Developer Guide, "Eventual consistency").
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from diskbench.private import private_directory
from diskbench.providers.aws.inventory import expiry_of
from diskbench.providers.places import lease_directory

if TYPE_CHECKING:
    from pathlib import Path

    from diskbench.model.ours import Which
    from diskbench.providers.aws.inventory import AwsInventory
    from diskbench.providers.aws.timing import AwsTiming


_TIMES = ("LaunchTime", "CreateTime")
"""The fields in which EC2 says when a resource was made."""


def note_create(lease_id: str) -> None:
    """Record that a create of the lease is sent now."""
    mark = _mark(lease_id)
    private_directory(mark.parent)
    mark.touch(mode=0o600)


def unlisted_s(which: Which, timing: AwsTiming, first: AwsInventory) -> float | None:
    """Seconds for which a create of the lease may still be unlisted, by `first`, the listing with
    which the release began; None where nothing can be. If this machine sent none, another may have:
    then the times of the listed resources count. For a lease that expired, or whose resources were
    recorded, no creates are sent any more."""
    if which.copied:
        return None
    try:
        sent = _mark(which.lease_id).stat().st_mtime
    except FileNotFoundError:
        if which.made:
            return None
        items = [item for _, item in first.resources()]
        if any((expiry_of(item) or math.inf) <= time.time() for item in items):
            return None
        made = [item[key].timestamp() for item in items for key in _TIMES if key in item]
        sent = max(made, default=time.time())
    # Where this machine's clock is behind the cloud's, a create seems to lie in the future.
    return timing.settle_s - max(0.0, time.time() - sent)


def _mark(lease_id: str) -> Path:
    return lease_directory(lease_id) / "last-create"
