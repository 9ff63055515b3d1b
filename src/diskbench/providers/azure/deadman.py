"""Azure's own dead-man's switch for a machine: a shutdown schedule.

A guest that powers itself off is still billed, because Azure keeps its capacity reserved. A
schedule of Microsoft.DevTestLab, as the portal's "Auto-shutdown" makes it, deallocates the
machine instead. It fires daily at a time of day, so it is made only for leases that end within a
day. Resource: learn.microsoft.com, "Microsoft.DevTestLab/schedules" 2018-09-15, type
ComputeVmShutdownTask; its name must be `shutdown-computevm-MACHINE`.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, Interrupted
from diskbench.providers.azure.inventory import MACHINES, SHUTDOWN
from diskbench.providers.azure.requests import EXPIRES_TAG, Request, name_of, tags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from diskbench.model.rental import Claim, LeaseEnd
    from diskbench.providers.azure.client import AzureClient, Item

API_VERSION = "2018-09-15"
LONGEST_S = 24 * 3600 - 3600
"""The longest lease that a daily time can express: a day less an hour for the grace."""
_GRACE = timedelta(minutes=15)
"""Grace after the lease's end, so that a timely release comes first; our choice."""
SCHEDULE_MADE = "schedule"
"""The result of `arm` where the schedule is made."""
_KIND = "Microsoft.DevTestLab/schedules"
_WRITE = f"{_KIND}/write"


def schedule(
    tags: Mapping[str, str], region: str, machine_id: str, expires_at: float, *, on: bool = True
) -> Request:
    """The schedule that deallocates the machine when the lease ends: pure. Without `on` it is
    disabled."""
    when = datetime.fromtimestamp(expires_at, UTC) + _GRACE
    return {
        "location": region,
        "tags": dict(tags),
        "properties": {
            "status": "Enabled" if on else "Disabled",
            "taskType": "ComputeVmShutdownTask",
            "dailyRecurrence": {"time": when.strftime("%H%M")},
            "timeZoneId": "UTC",
            "targetResourceId": machine_id,
            "notificationSettings": {"status": "Disabled"},
        },
    }


def arm(edge: AzureClient, claim: Claim, region: str, machine_id: str) -> str:
    """Make the schedule and return `schedule`, or the reason why there is none. A failure does
    not fail the run: the guest has a timer, and the tags hold the expiry."""
    if claim.expires_at - time.time() > LONGEST_S:
        return "none: the lease is longer than a daily schedule can mean"
    return _armed(edge, schedule(tags(claim), region, machine_id, claim.expires_at))


def message(machine: str, armed: str) -> str:
    """The note for a person about the result of `arm`."""
    if armed == SCHEDULE_MADE:
        return f"Azure deallocates {machine} after the lease: its shutdown schedule is set"
    return (
        f"WARNING: Azure will not deallocate {machine} after the lease ({armed}). If this computer "
        "fails, the machine is billed until a diskbench command opens this database again, or "
        "until diskbench gc runs"
    )


def is_schedule(item: Item) -> bool:
    """Whether a resource of a group is its machine's shutdown schedule."""
    return str(item.get("type")).lower() == _KIND.lower()


def move(edge: AzureClient, lease_id: str, content: Sequence[Item], end: LeaseEnd) -> None:
    """Move the shutdown schedule of the lease's machine to `end`, or disable it where `end` is more
    than a day away: a daily schedule would fire too early. `content` is the content of the lease's
    group.

    An existing schedule must be moved: raises diskbench's errors. Where there is none, because
    the lease was too long or Azure refused it, it is made as by `arm`.
    """
    name = name_of(lease_id, "machine").lower()
    machines = (item for item in content if str(item.get("type")).lower() == MACHINES.lower())
    machine = next((item for item in machines if str(item["name"]).lower() == name), None)
    existing = next((item for item in content if is_schedule(item)), None)
    if machine is None:  # no machine to shut down
        return
    fits = end.left_s <= LONGEST_S
    carried = {**(machine.get("tags") or {}), EXPIRES_TAG: str(int(end.expires_at))}
    request = schedule(
        carried, str(machine["location"]), str(machine["id"]), end.expires_at, on=fits
    )
    if existing is not None:
        _put(edge, request)
    elif fits:
        _armed(edge, request)


def _armed(edge: AzureClient, request: Request) -> str:
    try:
        _put(edge, request)
    except Interrupted:
        raise
    except DiskbenchError as error:
        return f"none: {error.message}"
    return SCHEDULE_MADE


def _put(edge: AzureClient, request: Request) -> None:
    """Make or replace the schedule of the machine that it is for."""
    machine_id = str(request["properties"]["targetResourceId"])
    group, *_, machine = machine_id.rsplit("/", 4)  # GROUP/providers/Microsoft.Compute/KIND/NAME
    name = f"{SHUTDOWN}{machine}"
    edge.finished(
        f"schedule {name}", edge.timing.network_s, _WRITE,
        "resources", "resources.begin_create_or_update_by_id",
        f"{group}/providers/{_KIND}/{name}", request,
        api_version=API_VERSION,
    )  # fmt: skip
