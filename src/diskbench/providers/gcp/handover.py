"""Handover of a rented machine: connect to it, find its disk in the guest, read everything back;
Google's report is kept for the record and compared with the request."""

from collections.abc import Iterator, Sequence
from typing import Any

from diskbench.errors import RentalFailed
from diskbench.model.rental import Acquired, Which
from diskbench.providers.gcp import attach, requests
from diskbench.providers.gcp.client import API, Item, last
from diskbench.providers.gcp.disk_request import GcpResolved
from diskbench.providers.gcp.leases import attached, inventory, linked, place, scope_of
from diskbench.providers.gcp.provision import shown
from diskbench.providers.gcp.requests import GcpOrder
from diskbench.providers.guest import ROOT_DIRECTORY, GuestDisk, await_prepared
from diskbench.providers.skeleton.handover import acquired, differs, reached, refuse
from diskbench.providers.skeleton.provision import Provisioned, name_of
from diskbench.providers.skeleton.shipped import at, facts_of
from diskbench.providers.waits import Still
from diskbench.units import GIB, counted


def hand_over(order: GcpOrder, made: Provisioned) -> Acquired:
    """The machine with its verified disk. Raises RentalFailed where it differs from the request."""
    machine = attach.machine_of(order, made)
    with reached(order, machine) as guest:
        kind = order.details.requested.kind
        seen: tuple[GuestDisk, ...] = ()
        if kind == "disk":
            seen = attach.attach(order, made, guest)
        elif kind == "local-ssd":
            seen = attach.local_ssds(order, made, guest)
        await_prepared(guest, order.machine_name, order.timing, order.watch)
    details = order.details
    instance = attach.alive(order, made)
    scope = order.disk_scope(made.place)
    volumes = [shown(order, "disks", scope, str(disk["name"])) for disk in made.disks]
    if kind == "root":
        links = [disk.get("source") for disk in instance.get("disks", []) if disk.get("boot")]
        if not any(links):
            raise RentalFailed(f"instance {made.place}/{order.machine_name} has no root disk")
        volumes = [shown(order, "disks", made.place, last(str(links[0])))]
    check(details, made.place, instance, volumes, order.spec.kms_key)
    sizes = [disk.size_bytes for disk in seen] or [int(v["sizeGb"]) * GIB for v in volumes]
    found = facts(details, made.place, instance, volumes, seen)
    all_made = _all_made(order, made, volumes)
    directory = ROOT_DIRECTORY if kind == "root" else None
    return acquired(
        order, machine, seen, directory, size_bytes=sizes[0], facts=found, made=all_made
    )


def _all_made(order: GcpOrder, made: Provisioned, volumes: list[Item]) -> tuple[str, ...]:
    """Kinds and names of all resources of the lease, as soon as a listing by label shows those
    that are known to exist, so that later listings by other processes do. Where the listing is
    incomplete after that time, this is noted, and the known resources are added."""
    links = [str(disk.get("source", "")) for disk in made.machine.get("disks", [])]
    known = {
        f"instance {made.place}/{order.machine_name}",
        *(f"disk {place(volume)}" for volume in volumes),
        *(target[0] for link in links if (target := linked(link))),
    }
    if order.details.tag is None:
        known.add(f"firewall {name_of(order.lease, 'ssh')}")

    def ask() -> frozenset[str] | Still:
        listed = frozenset(inventory(order.compute, Which(order.lease)).meant)
        missing = sorted(known - listed)
        return Still(f"{', '.join(missing)} is not listed (yet)") if missing else listed

    try:
        listed = order.until(ask, f"listing of {order.lease}", order.timing.appear_s)
    except RentalFailed as late:
        order.watch.note(late.message)
        listed = frozenset()
    return tuple(sorted(listed | known))


def check(
    details: GcpResolved,
    zone: str,
    instance: Item,
    disks: Sequence[Item],
    kms_key: str | None = None,
) -> None:
    """Raise RentalFailed naming every value that differs, as requested and as reported; a value
    that Google does not report is no difference."""
    of_disks = (text for disk in disks for text in _of_disk(details, zone, disk, kms_key))
    refuse("Google", (*_of_instance(details, zone, instance), *of_disks))


def _of_instance(details: GcpResolved, zone: str, instance: Item) -> Iterator[str]:
    what, attached_disks = f"instance {place(instance)}", instance.get("disks", [])
    scheduling = instance.get("scheduling", {})
    yield from differs(what, "machine type", details.machine.type, _name(instance, "machineType"))
    yield from differs(what, "zone", zone, scope_of(instance))
    yield from differs(
        what, "what ends it", "DELETE", scheduling.get("instanceTerminationAction") or "nothing"
    )
    if details.reach != "public":
        addresses = [
            config.get("natIP") or "one without a number yet"
            for interface in instance.get("networkInterfaces", [])
            for config in interface.get("accessConfigs", [])
        ]
        yield from differs(what, "external address", "none", ", ".join(addresses) or "none")
    if "maxRunDuration" not in scheduling and "terminationTime" not in scheduling:
        yield f"{what} has no end"
    if items := at(instance, "metadata.items"):
        metadata = {str(item.get("key")): str(item.get("value", "")) for item in items}
        yield from differs(what, "OS Login", "FALSE", metadata.get("enable-oslogin") or "not set")
    for disk in attached_disks:
        ends = "on" if disk.get("autoDelete") else "off"
        yield from differs(what, f"deletion of {disk.get('deviceName')} with it", "on", ends)
    if details.requested.kind == "local-ssd":
        local = [disk for disk in attached_disks if disk.get("type") == "SCRATCH"]
        interface = (details.requested.interface or "nvme").upper()
        for disk in local:
            yield from differs(what, "interface of local SSD", interface, disk.get("interface"))
        if len(local) < details.requested.count:
            has = f"{what} has {counted(len(local), 'local SSD')}"
            yield f"{has}, not the {details.requested.count} requested"


def _of_disk(details: GcpResolved, zone: str, disk: Item, kms_key: str | None) -> Iterator[str]:
    requested = details.requested.spec(details.size_gib)
    what = f"disk {place(disk)}"
    yield from differs(what, "type", requests.google_type(requested.type), _name(disk, "type"))
    yield from differs(what, "size in GiB", requested.size_gib, _int(disk, "sizeGb"))
    if requests.is_regional(requested.type):
        yield from differs(what, "region", details.region, scope_of(disk))
        replicas = sorted(last(str(url)) for url in disk.get("replicaZones", []))
        if replicas and (len(replicas) != 2 or zone not in replicas):
            yield f"{what} is in {', '.join(replicas)}, but {zone} and another zone were requested"
    else:
        yield from differs(what, "zone", zone, scope_of(disk))
    yield from differs(what, "IOPS", requested.iops, _int(disk, "provisionedIops"))
    throughput = requested.throughput_mib_per_s
    yield from differs(what, "throughput in MiB/s", throughput, _int(disk, "provisionedThroughput"))
    used = str(disk.get("diskEncryptionKey", {}).get("kmsKeyName", "Google's own"))
    if kms_key is not None and not used.startswith(kms_key):  # Google adds the key's version
        yield from differs(what, "key", kms_key, used)
    source = str(disk.get("sourceSnapshot", "")).partition("/projects/")[2]
    source = f"projects/{source}" if source else "none"
    yield from differs(what, "snapshot", details.snapshot or "none", source)
    if details.requested.kind == "disk" and disk.get("sourceImage"):
        yield f"{what} is made from {last(str(disk['sourceImage']))}, not empty as requested"


def _name(item: Item, key: str) -> str | None:
    return last(str(item[key])) if item.get(key) else None


def _int(item: Item, key: str) -> int | None:
    return int(item[key]) if item.get(key) else None


def facts(
    details: GcpResolved,
    zone: str,
    instance: Item,
    disks: Sequence[Item],
    guest_disks: Sequence[GuestDisk],
) -> dict[str, Any]:
    """The facts recorded beside the result; JSON values only, nothing secret."""
    return {
        "instance_id": str(instance["id"]),
        **facts_of(instance, API["machine"]),
        "instance_type": _name(instance, "machineType"),
        "project": details.project,
        "region": details.region,
        "zone": zone,
        **facts_of(details.model_dump(mode="json"), API["rented"]),
        "spot": at(instance, "scheduling.provisioningModel") == "SPOT",
        "launched_at": str(instance.get("creationTimestamp")),
        "boot_type": details.boot_type or None,
        "volumes": [_disk_facts(disk, instance) for disk in disks],
        "disks": [disk.model_dump(mode="json") for disk in guest_disks],
    }


def _disk_facts(disk: Item, instance: Item) -> dict[str, Any]:
    attachment = attached(instance, disk["name"]) or {}
    return {
        "id": str(disk.get("id")),
        "name": disk["name"],
        "type": _name(disk, "type"),
        **{name: _int(disk, key) for name, key in API["disk"].items()},
        "snapshot": _name(disk, "sourceSnapshot"),
        "zone": scope_of(disk),
        "replica_zones": [last(str(url)) for url in disk.get("replicaZones", [])] or None,
        "attached_as": attachment.get("deviceName"),
        "interface": attachment.get("interface"),
        "ends_with_machine": attachment.get("autoDelete"),
    }
