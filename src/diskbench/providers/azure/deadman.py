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
from diskbench.providers.azure.inventory import MACHINES, SHUTDOWN
from diskbench.providers.azure.requests import EXPIRES_TAG, Request, name_of, tags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from diskbench.model.rental import Claim, LeaseEnd
    from diskbench.providers.azure.client import AzureClient, Item

API_VERSION = "2018-09-15"
LONGEST_S = 24 * 3600 - 3600
"""The longest lease that a daily time of day can mean; an hour less for its grace."""
_GRACE = timedelta(minutes=15)
"""After the lease's end, so that whoever gives it back in time comes first; our choice."""
_KIND = "Microsoft.DevTestLab/schedules"
_WRITE = f"{_KIND}/write"


def schedule(
    tags: Mapping[str, str], region: str, machine_id: str, expires_at: float, *, on: bool = True
) -> Request:
    """The schedule that deallocates the machine when the lease is over: pure. One that is not `on`
    does nothing."""
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
    """Make the switch, and say what there is now: `schedule`, or why there is none. A run is not
    lost for it: the guest has a timer, and the expiry stands in the tags."""
    if claim.expires_at - time.time() > LONGEST_S:
        return "none: the lease is longer than a daily schedule can mean"
    return _armed(edge, schedule(tags(claim), region, machine_id, claim.expires_at))


def is_schedule(item: Item) -> bool:
    """Whether a thing of a group is the switch of its machine."""
    return str(item.get("type")).lower() == _KIND.lower()


def move(edge: AzureClient, lease_id: str, held: Sequence[Item], end: LeaseEnd) -> None:
    """Let the switch of the lease's machine go off after `end`, or switch it off itself where the
    end is more than a daily time of day can mean: it would go off too early. `held` is what is in
    the lease's group.

    A switch that is there must be moved: raises our errors. Where there is none, because the lease
    was too long for one or Azure refused it, it is tried again, as `arm` does.
    """
    name = name_of(lease_id, "machine").lower()
    machines = (one for one in held if str(one.get("type")).lower() == MACHINES.lower())
    machine = next((one for one in machines if str(one["name"]).lower() == name), None)
    there = next((one for one in held if is_schedule(one)), None)
    if machine is None:  # nothing to switch off
        return
    fits = end.left_s <= LONGEST_S
    carried = {**(machine.get("tags") or {}), EXPIRES_TAG: str(int(end.expires_at))}
    request = schedule(
        carried, str(machine["location"]), str(machine["id"]), end.expires_at, on=fits
    )
    if there is not None:
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
    return "schedule"


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
