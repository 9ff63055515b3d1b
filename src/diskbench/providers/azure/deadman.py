"""Azure's own switch for a machine that nobody looks after: a shutdown schedule.

A guest that powers itself off is still billed, because Azure keeps its place. A schedule of
Microsoft.DevTestLab, as the portal's "Auto-shutdown" makes it, deallocates the machine instead. It
fires once a day at a time of day, so it is made for leases that end within a day only. Resource:
learn.microsoft.com, "Microsoft.DevTestLab/schedules" 2018-09-15, type ComputeVmShutdownTask; its
name must be `shutdown-computevm-MACHINE`.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, Interrupted
from diskbench.providers.azure.requests import Request, group_name, name_of, tags

if TYPE_CHECKING:
    from diskbench.model.rental import Claim
    from diskbench.providers.azure.edge import Edge

API_VERSION = "2018-09-15"
LONGEST_S = 24 * 3600 - 3600
"""The longest lease that a daily time of day can mean; an hour less for its grace."""
_GRACE = timedelta(minutes=15)
"""After the lease's end, so that whoever gives it back in time comes first; our choice."""
_WRITE = "Microsoft.DevTestLab/schedules/write"


def schedule(claim: Claim, region: str, machine_id: str) -> Request:
    """The schedule that deallocates the machine when the lease is over: pure."""
    when = datetime.fromtimestamp(claim.expires_at, UTC) + _GRACE
    return {
        "location": region,
        "tags": tags(claim),
        "properties": {
            "status": "Enabled",
            "taskType": "ComputeVmShutdownTask",
            "dailyRecurrence": {"time": when.strftime("%H%M")},
            "timeZoneId": "UTC",
            "targetResourceId": machine_id,
            "notificationSettings": {"status": "Disabled"},
        },
    }


def arm(edge: Edge, claim: Claim, region: str, machine_id: str) -> str:
    """Make the switch, and say what there is now: `schedule`, or why there is none. A run is not
    lost for it: the guest has a timer, and the expiry stands in the tags."""
    if claim.expires_at - time.time() > LONGEST_S:
        return "none: the lease is longer than a daily schedule can mean"
    lease_id = claim.lease_id
    group = f"/subscriptions/{edge.azure.subscription}/resourceGroups/{group_name(lease_id)}"
    name = f"shutdown-computevm-{name_of(lease_id, 'machine')}"
    try:
        edge.finished(
            f"schedule {name}", edge.timing.network_s, _WRITE,
            "resources", "resources.begin_create_or_update_by_id",
            f"{group}/providers/Microsoft.DevTestLab/schedules/{name}",
            schedule(claim, region, machine_id),
            api_version=API_VERSION,
        )  # fmt: skip
    except Interrupted:
        raise
    except DiskbenchError as error:
        return f"none: {error.message}"
    return "schedule"
