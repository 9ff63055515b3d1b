"""Disks at a running machine: attach them, find and verify them in the guest, swap them.

The guest shows a disk by the device name that diskbench chose (Compute Engine API,
AttachedDisk.deviceName), local SSDs by `google-local-nvme-ssd-N` and `google-local-ssd-N` (Google's
guest-configs, 65-gce-disk-naming.rules and google_nvme_id). All persistent disks on NVMe are
namespaces of one controller and share its serial; they differ in WWN.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence

from diskbench.errors import DiskbenchError, RentalFailed
from diskbench.model.rental import Which
from diskbench.ports import Host
from diskbench.providers.gcp import leases, requests
from diskbench.providers.gcp.client import Item, change, last
from diskbench.providers.gcp.disk_request import LOCAL_SSD_GIB, tunnel
from diskbench.providers.gcp.errors import exists_already, is_busy, is_missing, refused
from diskbench.providers.gcp.provision import ended, in_zone, unless_there
from diskbench.providers.gcp.requests import GcpOrder
from diskbench.providers.guest import GuestDisk, disks
from diskbench.providers.skeleton import handover
from diskbench.providers.skeleton.leases import Listed, listed_in_time
from diskbench.providers.skeleton.provision import Provisioned, name_of
from diskbench.providers.waits import Still
from diskbench.units import GIB


def alive(order: GcpOrder, made: Provisioned) -> Item:
    """The machine's present state. Raises RentalFailed when it no longer runs."""
    instance = leases.describe(order.compute, "instances", made.place, order.machine_name)
    if instance is None:
        raise refused("machine gone", leases=leases.place(made.machine))
    if instance.get("status") not in leases.LIVE:
        raise ended(instance)
    return instance


def machine_of(order: GcpOrder, made: Provisioned) -> handover.Machine:
    """The machine, and how to connect to it: at its public address, else its private one."""

    def ask() -> str | Still:
        nic = alive(order, made)["networkInterfaces"][0]
        public = [c["natIP"] for c in nic.get("accessConfigs", []) if c.get("natIP")]
        if public:
            return str(public[0])
        # A public address was requested: the machine has one as soon as it runs.
        waits = bool(nic.get("accessConfigs")) or not nic.get("networkIP")
        return Still("none yet") if waits else str(nic["networkIP"])

    def going() -> None:
        alive(order, made)

    name, details = order.machine_name, order.details
    address = order.until(ask, f"address of {name}", order.timing.instance_s)
    through = tunnel(details.project, made.place, name) if details.reach == "iap" else None
    access = order.access(address, details.image.user, through)
    return handover.Machine(name, address, access, going)


def attach(order: GcpOrder, made: Provisioned, guest: Host) -> tuple[GuestDisk, ...]:
    """Attach the disks and return them as the guest sees them, in order. Raises RentalFailed."""
    names = [order.device_name(index) for index in range(len(made.disks))]
    device_names = {str(one.get("deviceName")) for one in alive(order, made).get("disks", [])}
    attached = not device_names.isdisjoint(names)
    before = handover.disks_before_ours(order, guest, attached=attached)
    for index in range(len(made.disks)):
        _attach_one(order, made, index)
    return tuple(
        _appeared(order, guest, name, int(disk["sizeGb"]), before)
        for disk, name in zip(made.disks, names, strict=True)
    )


def local_ssds(order: GcpOrder, made: Provisioned, guest: Host) -> tuple[GuestDisk, ...]:
    """The requested local disks of the machine, each as large as Google says of this machine."""
    requested = order.details.requested
    sizes_gib = [
        int(disk["diskSizeGb"])
        for disk in alive(order, made).get("disks", [])
        if disk.get("type") == "SCRATCH" and disk.get("diskSizeGb")
    ]
    size_gib = sizes_gib[0] if sizes_gib else order.details.machine.local_ssd_gib
    shown = order.ask_guest("its disks", lambda: disks(guest))
    return find_local(shown, requested.count, requested.interface or "nvme", size_gib)


def _attach_one(order: GcpOrder, made: Provisioned, index: int) -> None:
    disk, name = made.disks[index], order.device_name(index)
    what, attempt = f"disk {disk['name']}", 0

    def ask() -> bool | Still:
        nonlocal attempt
        attachment = leases.attached(alive(order, made), str(disk["name"]))
        if attachment is not None:
            if (attached := attachment.get("deviceName")) != name:
                raise refused("attached by another name", what=what, attached=attached, name=name)
            if not attachment.get("autoDelete"):
                request = requests.set_auto_delete(order, made.place, index)
                _change(order, "setDiskAutoDelete", request, f"disk {name}")
            return True
        request = requests.attach_disk(order, made.place, index, attempt)
        attempt += 1
        try:
            _change(order, "attachDisk", request, what)
        except DiskbenchError as error:
            # An earlier attempt, or a call whose answer was lost, may be in progress already.
            if not (is_busy(error) or exists_already(error)):
                raise
            _refuse_elsewhere(order, made, str(disk["name"]))
            return Still(error.message)
        return Still("attaching")

    order.until(ask, what, order.timing.attach_s)
    order.watch.note(f"{what} is attached as {name}")


def _refuse_elsewhere(order: GcpOrder, made: Provisioned, name: str) -> None:
    """Raise RentalFailed when another machine has the disk."""
    disk = leases.describe(order.compute, "disks", order.disk_scope(made.place), name) or {}
    others = [last(str(user)) for user in disk.get("users", [])]
    if others and order.machine_name not in others:
        raise refused("disk of another machine", name=name, others=others, order=order)


def _change(order: GcpOrder, method: str, request: requests.Request, what: str) -> None:
    change(order.compute, "instances", method, request, what, order.timing.attach_s)


def _appeared(
    order: GcpOrder, guest: Host, name: str, size_gib: int, before: tuple[GuestDisk, ...] | None
) -> GuestDisk:
    known = with_unique_identity(before) if before is not None else None
    size_bytes, link = size_gib * GIB, f"{_LINK}{name}"
    unlinked_since: float | None = None

    def ask() -> GuestDisk | Still:
        nonlocal unlinked_since
        guest_disks = disks(guest)
        if (ours := find_disk(guest_disks, name, size_bytes, known)) is not None:
            return ours
        bare = without_link(guest_disks, size_bytes, known)
        if bare is None:
            unlinked_since = None
            return Still(f"{link} is not seen in the guest yet")
        unlinked_since = unlinked_since or time.monotonic()
        if time.monotonic() - unlinked_since >= LINK_S:
            raise refused("disk without a link", disk=bare, link=link, limit_s=LINK_S)
        return Still(f"{bare.node} exists, but {link} does not yet")

    return order.ask_guest(f"disk {name}", ask)


def swapped(order: GcpOrder) -> Provisioned:
    """The lease's machine and the disks of this turn; idempotent. Raises RentalFailed."""
    listing = leases.inventory(order.compute, Which(order.lease))
    zone = _zone(order, listing)
    count = order.disk.count if order.disk else 0
    disks = ((told, disk) for told, disk in listing.meant.items() if told.startswith("disk "))
    earlier = Listed({told: disk for told, disk in disks if order.is_earlier(disk["name"], count)})
    for disk in earlier.of("disk"):
        _detach(order, zone, str(disk["name"]))
    failures: dict[str, str] = {}
    leases.give_back(order.compute, order.lease, "disks", earlier, failures)
    if failures:
        reasons = "; ".join(f"{what}: {why}" for what, why in failures.items())
        raise RentalFailed(f"not deleted: {reasons}", advice="it goes with its machine")
    lag, which = leases.lag_of(order.compute), Which(order.lease)
    listed_in_time(lambda _: leases.inventory(order.compute, which), earlier.meant, lag)
    return in_zone(order, zone)


def snapshot(order: GcpOrder, fill: Callable[[], None]) -> str:
    """The path of the lease's snapshot of its first disk, made or found, complete. Raises
    RentalFailed."""
    name, project = name_of(order.lease, requests.SNAPSHOT), order.details.project
    what = f"snapshot {name}"
    if order.compute.found("snapshots", {"snapshot": name}) is None:
        fill()
        zone = _zone(order, leases.inventory(order.compute, Which(order.lease)))
        request = requests.insert_snapshot(order, zone)
        limit_s = order.timing.snapshot_s
        unless_there(lambda: change(order.compute, "snapshots", "insert", request, what, limit_s))

    def ask() -> bool | Still:
        found = order.compute.found("snapshots", {"snapshot": name}) or {}
        status = str(found.get("status", "not shown yet"))
        if status == "FAILED":
            raise refused("snapshot failed", what=what)
        return True if status == "READY" else Still(status.lower())

    order.until(ask, what, order.timing.snapshot_s)
    return f"projects/{project}/global/snapshots/{name}"


def _zone(order: GcpOrder, listing: Listed) -> str:
    """The machine's zone. Raises RentalFailed when no machine runs, or its zone does not offer
    the disk."""
    live = leases.live_in(listing)
    if not live:
        if stopped := listing.of("instance"):
            raise ended(stopped[0])
        raise refused("machine not listed", order=order)
    zone = leases.scope_of(live[0])
    if zone not in order.details.zones:
        raise refused("machine in a zone without the disk", order=order, zone=zone)
    return zone


def _detach(order: GcpOrder, zone: str, name: str) -> None:
    """Detach a disk from the machine; succeeds if it is not attached."""
    what = f"disk {name}"

    def ask() -> bool | Still:
        instance = leases.describe(order.compute, "instances", zone, order.machine_name) or {}
        attachment = leases.attached(instance, name)
        if attachment is None:
            return True
        device = str(attachment["deviceName"])
        request = requests.detach_disk(order, zone, device, uuid.uuid4().hex)
        try:
            _change(order, "detachDisk", request, what)
        except DiskbenchError as error:
            if not (is_busy(error) or is_missing(error)):
                raise
            return Still(error.message)
        return Still("detaching")

    order.until(ask, what, order.timing.attach_s)
    order.watch.note(f"{what} is detached")


_LINK = "/dev/disk/by-id/google-"
LINK_S = 20.0
"""Seconds that udev has to make the link of a disk that is there; our choice."""
_LOCAL = {"nvme": "local-nvme-ssd", "scsi": "local-ssd"}


def with_unique_identity(guest_disks: Iterable[GuestDisk]) -> tuple[GuestDisk, ...]:
    """The disks, each with a unique identity."""
    return tuple(
        disk.model_copy(update={"identity": disk.wwn}) if disk.wwn else disk for disk in guest_disks
    )


def find_disk(
    guest_disks: Iterable[GuestDisk],
    device_name: str,
    size_bytes: int,
    before: Sequence[GuestDisk] | None,
) -> GuestDisk | None:
    """The guest's disk attached as `device_name`, verified by name, novelty and exact size in
    bytes.

    None while it has not appeared yet: udev makes the link before it stores the identity. Raises
    RentalFailed when another disk appeared instead.
    """
    disk = _disk_linked_as(guest_disks, device_name)
    if disk is None or not disk.identity:
        return None
    return handover.verified([disk], device_name, size_bytes, handover.keys_of(before))


def without_link(
    guest_disks: Iterable[GuestDisk], size_bytes: int, before: Sequence[GuestDisk] | None
) -> GuestDisk | None:
    """The disk that appeared with the size asked for and bears none of Google's links, as in an
    image without its udev rules; None without one."""
    known = handover.keys_of(before)
    fresh = [disk for disk in with_unique_identity(guest_disks) if not known & disk.keys]
    bare = [disk for disk in fresh if not any(link.startswith(_LINK) for link in disk.links)]
    return next((disk for disk in bare if disk.size_bytes == size_bytes), None)


def find_local(
    guest_disks: Iterable[GuestDisk], count: int, interface: str, size_gib: int = LOCAL_SSD_GIB
) -> tuple[GuestDisk, ...]:
    """The first `count` local disks of the machine, of `size_gib` each. Raises RentalFailed."""
    disks = with_unique_identity(guest_disks)
    names = [f"{_LOCAL[interface]}-{index}" for index in range(count)]
    local = [_disk_linked_as(disks, name) for name in names]
    present = tuple(disk for disk in local if disk is not None)
    if len(present) < count:
        links = f"{_LINK}{_LOCAL[interface]}"
        raise refused("fewer local SSDs", seen=len(present), count=count, links=links)
    for disk, name in zip(present, names, strict=True):
        handover.check_size(disk, name, size_gib * GIB)
    return present


def _disk_linked_as(guest_disks: Iterable[GuestDisk], device_name: str) -> GuestDisk | None:
    """The disk with the link of that name, moved to the front of its links."""
    link = _LINK + device_name
    matches = [disk for disk in with_unique_identity(guest_disks) if link in disk.links]
    if len(matches) > 1:
        nodes = ", ".join(disk.node for disk in matches)
        raise refused("several disks of a name", name=device_name, nodes=nodes)
    if not matches:
        return None
    other_links = tuple(other for other in matches[0].links if other != link)
    return matches[0].model_copy(update={"links": (link, *other_links)})
