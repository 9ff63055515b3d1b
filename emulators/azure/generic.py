"""What anything may carry, and a machine be guarded by, kept as it was put: tags at a scope and
shutdown schedules; and what is counted of a machine.

A schedule is fired by `power.fire_schedules`, never by a clock.
"""

from datetime import datetime, timedelta
from typing import Any

from emulators.azure.call import GROUP, Answer, Call, Refusal, wrong
from emulators.azure.cloud import Cloud, Route
from emulators.azure.groups import check_tags, group_of
from emulators.azure.subscriptions import check_location

SCHEDULE = "Microsoft.DevTestLab/schedules"
TAGS = "Microsoft.Resources/tags"


def _put_schedule(cloud: Cloud, call: Call) -> Answer:
    group = group_of(cloud, call)
    body: dict[str, Any] = call.body or {}
    location = check_location(body.get("location"), SCHEDULE)
    check_tags(body.get("tags"))
    given = body.get("properties") or {}
    machine = cloud.find(given.get("targetResourceId") or "")
    if machine is None:
        raise wrong("The target resource of the schedule does not exist.", "targetResourceId")
    name = call.names["name"]
    if name.lower() != f"shutdown-computevm-{machine['name']}".lower():
        raise wrong(f"The name must be shutdown-computevm-{machine['name']}.", "name")
    if given.get("taskType") != "ComputeVmShutdownTask":
        raise wrong("taskType must be ComputeVmShutdownTask.", "taskType")
    time = (given.get("dailyRecurrence") or {}).get("time", "")
    if not (len(time) == 4 and time.isdigit() and time < "2400"):
        raise wrong("dailyRecurrence.time must be HHmm.", "dailyRecurrence")
    identity = f"{group['id']}/providers/{SCHEDULE}/{name}"
    made: dict[str, Any] = {"id": identity, "name": name, "type": SCHEDULE, "location": location}
    made |= {"tags": body["tags"]} if body.get("tags") else {}
    made["properties"] = {**given, "provisioningState": "Succeeded"}
    there = cloud.find(identity) is not None
    return Answer(200 if there else 201, cloud.save(made))


def _tags(cloud: Cloud, call: Call) -> Answer:
    """Tags of anything by its id (Microsoft.Resources/tags 2021-04-01): merged with those that are
    there, which changes nothing else of it."""
    found = cloud.get("/" + call.names["scope"])
    body: dict[str, Any] = call.body or {}
    given = (body.get("properties") or {}).get("tags") or {}
    check_tags(given)
    if body.get("operation") != "Merge":
        raise wrong(f"The emulator does not '{body.get('operation')}' tags.", "operation")
    changed = {**(found.get("tags") or {}), **given}
    check_tags(changed)
    found["tags"] = changed
    identity = f"{found['id']}/providers/{TAGS}/default"
    kept = {"tags": dict(found.get("tags") or {})}
    made = {"id": identity, "name": "default", "type": TAGS, "properties": kept}
    return Answer(200, made)


_CONSUMED = tuple(
    f"{disk} Disk {what} Percentage"
    for disk in ("Data", "OS")
    for what in (
        "IOPS Consumed", "Bandwidth Consumed", "Used Burst IO Credits", "Used Burst BPS Credits",
    )
)  # fmt: skip
_OF_MACHINE = tuple(
    f"VM {what} Percentage"
    for what in (
        "Uncached IOPS Consumed", "Uncached Bandwidth Consumed", "Cached IOPS Consumed",
        "Cached Bandwidth Consumed", "Remote Used Burst IO Credits",
        "Remote Used Burst BPS Credits", "Local Used Burst IO Credits",
        "Local Used Burst BPS Credits",
    )
)  # fmt: skip
"""Names in the REST API: supported metrics of Microsoft.Compute/virtualMachines (2023-11-09)."""


def _metrics(cloud: Cloud, call: Call) -> Answer:
    """Metrics, "List" (Microsoft.Insights 2018-01-01): one value a minute, split by LUN where the
    filter says so; a minute without a value has its time alone."""
    machine = cloud.get("/" + call.names["scope"])
    names = call.query.get("metricnames", "").split(",")
    split = call.query.get("$filter")
    for name in names:
        if name not in (*_CONSUMED, *_OF_MACHINE):
            raise Refusal("BadRequest", f"Failed to find metric configuration for metric: {name}.")
        if split and name in _OF_MACHINE:
            raise Refusal("BadRequest", f"Metric: {name} does not support requested dimension.")
    if len(names) > 20 or split not in {None, "LUN eq '*'"}:
        raise Refusal("BadRequest", "Too many metrics, or a filter that is not known here.")
    first, _, last = call.query["timespan"].partition("/")
    at, end = (datetime.fromisoformat(one) for one in (first, last))
    interval = timedelta(minutes=float(call.query["interval"][2:-1]))  # PT1M
    moments = []
    while at < end:
        moments.append(f"{at:%Y-%m-%dT%H:%M:%SZ}")
        at += interval
    disks = machine["properties"]["storageProfile"]["dataDisks"] if split else [{}]

    def series(name: str, disk: dict[str, Any]) -> dict[str, Any]:
        lun = {"name": {"value": "lun", "localizedValue": "lun"}, "value": str(disk.get("lun"))}
        given = cloud.faults.consumed.get(name)
        value = {} if given is None else {"average": given}
        data = [{"timeStamp": one, **value} for one in moments]
        return {"metadatavalues": [lun] if split else [], "data": data}

    value = [
        {
            "id": f"{machine['id']}/providers/Microsoft.Insights/metrics/{name}",
            "type": "Microsoft.Insights/metrics",
            "name": {"value": name, "localizedValue": name},
            "unit": "Percent",
            "timeseries": [series(name, disk) for disk in disks],
        }
        for name in names
    ]
    told = {
        "timespan": call.query["timespan"],
        "interval": call.query["interval"],
        "cost": 0,
        "value": value,
    }
    return Answer(200, {**told, "namespace": call.query.get("metricnamespace")})


_SCHEDULES = f"{GROUP}/providers/{SCHEDULE}/{{name}}"
_TAGS = f"/{{scope+}}/providers/{TAGS}/default"
ROUTES = (
    Route("PATCH", _TAGS, f"{TAGS}/write", _tags),
    Route(
        "GET",
        "/{scope+}/providers/Microsoft.Insights/metrics",
        "Microsoft.Insights/metrics/read",
        _metrics,
    ),
    Route("PUT", _SCHEDULES, f"{SCHEDULE}/write", _put_schedule),
)
