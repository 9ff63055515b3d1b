"""Handover of a rented machine: connect to it, find its disk in the guest, read everything back;
Azure's report is kept for the record and compared with the request. What Azure Monitor counted
later is kept as well."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from diskbench.errors import RentalFailed
from diskbench.model.expectation import LimitName
from diskbench.model.metrics import CloudMetric
from diskbench.model.rental import Acquired, Rental
from diskbench.ports import Host
from diskbench.providers.azure import attach, teardown
from diskbench.providers.azure.client import API, DISKS, AzureClient, Item
from diskbench.providers.azure.disk_request import ZONE_REDUNDANT, AzureResolved
from diskbench.providers.azure.errors import refused
from diskbench.providers.azure.provision import power_of, running
from diskbench.providers.azure.requests import AzureOrder
from diskbench.providers.guest import (
    ROOT_DIRECTORY,
    GuestDisk,
    await_prepared,
    disks,
    said_of_guest,
)
from diskbench.providers.skeleton.handover import acquired, differs, reached, refuse
from diskbench.providers.skeleton.offer import provisioned
from diskbench.providers.skeleton.provision import Provisioned, name_of
from diskbench.providers.skeleton.shipped import at, facts_of
from diskbench.providers.waits import Still
from diskbench.units import GIB


def hand_over(order: AzureOrder, made: Provisioned) -> Acquired:
    """The machine with its verified disk. Raises RentalFailed where it differs from the request."""
    name = order.machine_name
    dead_man = teardown.arm(order, str(made.machine["id"]))
    reach = attach.machine_of(order)
    with reached(order, reach) as guest:
        seen, directory, cache_changes = _find_disks(order, made, guest)
        await_prepared(guest, name, order.timing, order.watch)
    details = order.details
    machine = running(order)
    names = {
        "disk": [order.disk_name(index) for index in range(details.requested.count)],
        "root": [name_of(order.lease, "os")],
        "local": [],
    }[details.requested.kind]
    listed = {name: order.edge.find(order.edge.path(order.group, DISKS, name)) for name in names}
    if gone := [name for name, disk in listed.items() if disk is None]:
        raise refused("disk gone", gone=gone)
    measured = [disk for disk in listed.values() if disk is not None]
    check(details, made.place, machine, measured)
    sizes = [disk.size_bytes for disk in seen] or [
        int(disk["properties"]["diskSizeGB"]) * GIB for disk in measured
    ]
    _await_listed(order, names, scheduled=dead_man == teardown.SCHEDULE_MADE)
    more = {"dead_man": dead_man, "cache_changes": cache_changes}
    return acquired(
        order, reach, seen, directory, size_bytes=sizes[0],
        path=attach.path, identity=attach.identity,
        facts=facts(order, made, machine, measured, seen, more),
    )  # fmt: skip


def _await_listed(order: AzureOrder, disks: Sequence[str], *, scheduled: bool) -> None:
    """Wait a while until the listing of the lease's group, by which the lease is extended, shows
    machine, disks and schedule. Listings may lag for minutes, so a timeout is only noted."""
    machine = order.machine_name
    expected = {machine, name_of(order.lease, "os"), *disks}
    expected |= {f"{teardown.SHUTDOWN}{machine}"} if scheduled else set()

    def ask() -> bool | Still:
        listed = {str(item["name"]).lower() for item in teardown.inside(order.edge, order.group)}
        missing = sorted(name for name in expected if name.lower() not in listed)
        return Still(f"not listed yet: {', '.join(missing)}") if missing else True

    try:
        order.until(ask, f"listing of {order.group}", order.timing.settle_s)
    except RentalFailed as error:
        order.watch.note(error.message)


def _find_disks(
    order: AzureOrder, made: Provisioned, guest: Host
) -> tuple[tuple[GuestDisk, ...], str | None, list[str]]:
    """The disks in the guest, the directory where files are measured, and the changes made to reach
    the requested host cache."""
    requested = order.details.requested
    if requested.kind == "root":
        return (), ROOT_DIRECTORY, []
    if requested.kind == "disk":
        guest_disks, changes = attach.attach(order, made, guest)
        return guest_disks, None, changes
    guest_disks = order.ask_guest(
        "its own disks", lambda: attach.find_local(disks(guest), requested.count)
    )
    # A temporary disk that the first boot formatted, and cloud-init mounts, itself or its first
    # partition, is measured through a file on its file system.
    mounted = said_of_guest(guest, "mounted", guest_disks[0].number).text.strip()
    return guest_disks, mounted or None, []


def check(details: AzureResolved, zone: str | None, machine: Item, disks: Sequence[Item]) -> None:
    """Raise RentalFailed naming every value that differs, as requested and as reported. `disks` are
    the measured disks: in order of LUN, or the OS disk. A value that Azure does not report is no
    difference."""
    of_disks = (text for disk in disks for text in _of_disk(details, zone, disk))
    of_machine = _of_machine(details, zone, machine)
    refuse("Azure", (*of_machine, *of_disks, *_attached(details, machine, disks)))


def _of_machine(details: AzureResolved, zone: str | None, machine: Item) -> Iterator[str]:
    what = f"machine {machine['name']}"
    profile = at(machine, "properties.storageProfile") or {}
    version = at(profile, "imageReference.exactVersion") or at(profile, "imageReference.version")
    size = at(machine, "properties.hardwareProfile.vmSize")
    yield from differs(what, "size", details.machine.size, size)
    yield from differs(what, "zone", zone, _zone(machine))
    # Azure also writes `West Europe`.
    region = str(machine.get("location") or "").lower().replace(" ", "") or None
    yield from differs(what, "region", details.region, region)
    controller = profile.get("diskControllerType")
    yield from differs(what, "disk controller", details.machine.controller, controller)
    yield from differs(what, "image version", details.image.reference.get("version"), version)


def _of_disk(details: AzureResolved, zone: str | None, disk: Item) -> Iterator[str]:
    requested, what = details.requested, f"disk {disk['name']}"
    iops, mb_per_s = provisioned("azure", requested.spec(details.size_gib))
    reported = facts_of(disk, API["disk"])
    yield from differs(what, "type", requested.type, reported["type"])
    yield from differs(what, "size in GiB", details.size_gib, reported["size_gib"])
    yield from differs(what, "IOPS", iops, reported["iops"])
    yield from differs(what, "throughput in MB/s", mb_per_s, reported["mb_per_s"])
    if requested.kind == "disk" and requested.type not in ZONE_REDUNDANT:
        yield from differs(what, "zone", zone, _zone(disk))
    if requested.tier is not None:
        yield from differs(what, "performance tier", requested.tier, reported["tier"])
    key, source = _lower(reported["encryption_set"]), _lower(reported["snapshot"])
    yield from differs(what, "encryption set", _lower(requested.encryption_set), key)
    plus = reported["performance_plus"] or False
    yield from differs(what, "performance plus", requested.plus, plus)
    if requested.kind == "disk":
        yield from differs(what, "snapshot", _lower(requested.snapshot), source)
    yield from differs(what, "bursting on demand", requested.bursting, reported["bursting"])


def _attached(details: AzureResolved, machine: Item, disks: Sequence[Item]) -> Iterator[str]:
    """Host cache and LUN of each disk, from the machine."""
    requested = details.requested
    for lun, disk in enumerate(disks):
        what, attachment = f"disk {disk['name']}", _attachment(machine, disk)
        if requested.kind == "disk":
            yield from differs(what, "LUN", lun, attachment.get("lun", "none at all"))
        cache = attachment.get("caching") or "None"  # Azure may omit it then
        yield from differs(what, "host cache", requested.caching, cache)


def facts(
    order: AzureOrder,
    made: Provisioned,
    machine: Item,
    disks: Sequence[Item],
    guest_disks: Sequence[GuestDisk],
    more: dict[str, Any],
) -> dict[str, Any]:
    """The facts recorded beside the result; JSON values only, nothing secret."""
    details, size = order.details, order.details.machine
    controller = at(machine, "properties.storageProfile.diskControllerType")
    # As the guest shows its disks, else as Azure reports it for the machine, else as chosen.
    nodes = [disk.node for disk in guest_disks]
    seen = "nvme" if all("nvme" in node for node in nodes) else "scsi"
    return {
        **facts_of(machine, API["machine"]),
        "subscription": order.edge.azure.subscription,
        "region": details.region,
        "zone": made.place,
        "image": details.image.name,
        "architecture": size.arch,
        "disk_interface": seen if nodes else (controller or size.interface).lower(),
        "uncached": size.uncached.model_dump(mode="json"),
        "cached": size.cached.model_dump(mode="json"),
        "power": power_of(machine),
        "spot": at(machine, "properties.priority") == "Spot",
        "host_cache": details.requested.caching,
        "os_disk": {
            "type": details.os_type,
            "host_cache": at(machine, "properties.storageProfile.osDisk.caching"),
            "name": name_of(order.lease, "os"),
        },
        "volumes": [_disk_facts(machine, disk) for disk in disks],
        "disks": [disk.model_dump(mode="json") for disk in guest_disks],
        **more,
    }


def _disk_facts(machine: Item, disk: Item) -> dict[str, Any]:
    attachment = _attachment(machine, disk)
    return {
        **facts_of(disk, API["disk"]),
        "zone": _zone(disk),
        "lun": attachment.get("lun"),
        "host_cache": attachment.get("caching") or "None",
        "ends_with_machine": attachment.get("deleteOption") == "Delete",
    }


def _attachment(machine: Item, disk: Item) -> Item:
    """The machine's attachment of a disk; empty where it is not attached."""
    profile = at(machine, "properties.storageProfile") or {}
    attached = [*(profile.get("dataDisks") or []), profile.get("osDisk") or {}]
    return next((dict(one) for one in attached if attach.is_of(one, str(disk["id"]))), {})


def _lower(resource_id: str | None) -> str | None:
    """An id as it is compared: Azure writes parts of them in other cases."""
    return resource_id.lower() if resource_id else None


def _zone(item: Item) -> str | None:
    return next((str(zone) for zone in item.get("zones") or []), None)


# What Azure Monitor counted. Names and meanings: "Disk performance metrics" (disks-metrics.md,
# 2022-10-12) and the supported metrics of Microsoft.Compute/virtualMachines (2023-11-09): one value
# a minute, of credits one in five, and only for machines that take premium storage. Azure answers
# for another metric where it does not know a name (cloud-custodian 2792): names are compared.
_REACHED = 99.0
""""If this value reaches 100%, your application is I/O capped" (disks-metrics.md); the average of a
minute at the limit may be a little less: our choice."""
_OF_DISK: dict[str, LimitName | None] = API["metrics"]["disk"]
_OF_MACHINE: dict[str, None] = API["metrics"]["machine"]
"""Kept as evidence only: whether 100 % is a machine's lasting limit or that of its bursts, which
most sizes have, is not documented."""


def metrics(
    edge: AzureClient, rental: Rental, acquired: Acquired, since: datetime, until: datetime
) -> list[CloudMetric]:
    """As ports.Monitors. A disk that bursts passes 100 % of its baseline without being held back,
    so that a limit is named for a disk without bursts only."""
    details = AzureResolved.model_validate(rental.details)
    requested, facts = details.requested, acquired.facts
    if requested.kind == "local":
        return []
    disk_limits = requested.limits(details.size_gib)
    pools = disk_limits.pools if disk_limits else ()
    rates = [rate for pool in pools for rate in (pool.iops, pool.bytes_per_s) if rate]
    has_bursts = any(rate.ceiling > rate.baseline for rate in rates)
    prefix = "OS Disk" if requested.kind == "root" else "Data Disk"
    names = {f"{prefix} {name}": None if has_bursts else limit for name, limit in _OF_DISK.items()}
    # A machine has one OS disk, whose series is that of the whole machine.
    disks = {
        "" if requested.kind == "root" else str(volume["lun"]): str(volume["id"])
        for volume in facts["volumes"]
    }
    machine = str(facts["resource_id"])
    begin = int(since.timestamp() // edge.timing.metric_s * edge.timing.metric_s)
    end = until.timestamp() + edge.timing.metric_s
    first, last = (f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}" for at in (begin, end))
    series = partial(_series, edge, machine, f"{first}/{last}")
    return [*series(names, disks), *series(_OF_MACHINE, {"": machine})]


def _series(
    edge: AzureClient,
    machine: str,
    timespan: str,
    names: Mapping[str, LimitName | None],
    resources: Mapping[str, str],
) -> Iterator[CloudMetric]:
    """The series of these metrics, of resources by LUN ("": without that dimension)."""
    period_s = int(edge.timing.metric_s)
    asked = {
        "metricnamespace": "Microsoft.Compute/virtualMachines",
        "metricnames": ",".join(names),
        "timespan": timespan,
        "interval": f"PT{period_s / 60:g}M",
        "aggregation": "Average",
        **({} if "" in resources else {"$filter": "LUN eq '*'"}),
    }
    path = f"{machine}/providers/Microsoft.Insights/metrics"
    for metric in edge.listed(path, asked):
        name = str(metric["name"]["value"])
        for series in metric["timeseries"] if name in names else ():
            where = {
                str(part["name"]["value"]).lower(): str(part["value"])
                for part in series.get("metadatavalues") or []
            }
            resource = resources.get(where.get("lun", ""))
            if resource is None:  # a disk that is not measured
                continue
            yield CloudMetric(
                name=name,
                of=resource,
                statistic="Average",
                period_s=5 * period_s if "Credits" in name else period_s,
                limit=names[name],
                reached_at=None if names[name] is None else _REACHED,
                points=tuple(
                    (int(datetime.fromisoformat(one["timeStamp"]).timestamp()), one["average"])
                    for one in series["data"]
                    if one.get("average") is not None
                ),
            )
