"""Handover of a rented machine: connect to it, find its disk in the guest, read everything back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.model.ours import Which
from diskbench.providers.gcp import attach, readback, requests
from diskbench.providers.gcp.inventory import inventory, place
from diskbench.providers.gcp.operations import last
from diskbench.providers.gcp.provision import shown
from diskbench.providers.guest import ROOT_DIRECTORY, await_prepared
from diskbench.providers.skeleton.handover import Seen, acquired, reached
from diskbench.providers.waits import Still
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.model.disk import Acquired
    from diskbench.providers.gcp.client import Item
    from diskbench.providers.gcp.provision import GcpOrder, GcpProvisioned


def hand_over(order: GcpOrder, made: GcpProvisioned) -> Acquired:
    """The machine with its verified disk. Raises RentalFailed where it differs from the request."""
    machine = attach.machine_of(order, made)
    with reached(order, machine) as guest:
        kind = order.details.requested.kind
        seen = Seen(directory=ROOT_DIRECTORY)
        if kind == "disk":
            seen = Seen(attach.attach(order, made, guest))
        elif kind == "local-ssd":
            seen = Seen(attach.local_ssds(order, made, guest))
        await_prepared(guest, order.machine_name, order.timing, order.watch)
    details = order.details
    instance = attach.alive(order, made)
    volumes = [_disk(order, made, str(disk["name"])) for disk in made.disks]
    if kind == "root":
        volumes = [_root_disk(order, made, instance)]
    readback.check(details, made.zone, instance, volumes)
    sizes = [disk.size_bytes for disk in seen.disks] or [int(v["sizeGb"]) * GIB for v in volumes]
    return acquired(
        order,
        machine,
        seen,
        size_bytes=sizes[0],
        facts=readback.facts(details, made.zone, instance, volumes, seen.disks),
        made=_all_made(order, made, volumes),
    )


def _all_made(order: GcpOrder, made: GcpProvisioned, volumes: list[Item]) -> tuple[str, ...]:
    """Kinds and names of all resources of the lease, as soon as a listing by label shows those
    that are known to exist, so that later listings by other processes do. Where the listing is
    incomplete after that time, this is noted, and the known resources are added."""
    known = _known(order, made, volumes)

    def ask() -> frozenset[str] | Still:
        listed = frozenset(inventory(order.compute, Which(order.lease)).names())
        missing = sorted(known - listed)
        return Still(f"{', '.join(missing)} is not listed (yet)") if missing else listed

    try:
        listed = order.until(ask, f"listing of {order.lease}", order.timing.appear_s)
    except RentalFailed as late:
        order.watch.note(late.message)
        listed = frozenset()
    return tuple(sorted(listed | known))


def _known(order: GcpOrder, made: GcpProvisioned, volumes: list[Item]) -> frozenset[str]:
    disks = [f"disk {place(volume)}" for volume in volumes]
    attached = [
        f"disk {made.zone}/{last(str(disk['source']))}"
        for disk in made.instance.get("disks", [])
        if disk.get("source")
    ]
    instance = f"instance {made.zone}/{order.machine_name}"
    firewall = requests.name_of(order.lease, "ssh")
    rules = [] if order.details.tag is not None else [f"firewall {firewall}"]
    return frozenset({*rules, *disks, *attached, instance})


def _disk(order: GcpOrder, made: GcpProvisioned, name: str) -> Item:
    return shown(order, "disks", made.zone, name)


def _root_disk(order: GcpOrder, made: GcpProvisioned, instance: Item) -> Item:
    for attached_disk in instance.get("disks", []):
        if attached_disk.get("boot") and attached_disk.get("source"):
            return _disk(order, made, last(str(attached_disk["source"])))
    raise RentalFailed(f"instance {made.zone}/{order.machine_name} has no root disk")
