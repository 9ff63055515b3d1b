"""Handover of a running machine: connect, query the guest, compare the cloud's report with the
request, return the result to the engine."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diskbench.errors import ConnectionLost, HostUnavailable
from diskbench.model.rental import Acquired, SshAccess
from diskbench.ports import Host
from diskbench.providers.error_table import refused
from diskbench.providers.guest import GuestDisk, disks, disks_before
from diskbench.providers.skeleton.provision import Order
from diskbench.providers.waits import Still, until


@dataclass(frozen=True)
class Machine:
    """A running machine: its name for people (`instance i-0abc`), address, SSH access, and a
    check whether it may still answer (raises when it is gone, returns Still with an obstacle)."""

    name: str
    address: str
    access: SshAccess
    alive: Callable[[], Still | None]


@dataclass(frozen=True)
class AttachedDisk:
    """A disk as the cloud attached it: its id, the name or number of its place at the machine, and
    its size."""

    id: str
    place: str
    size_bytes: int


@contextlib.contextmanager
def reached(order: Order, machine: Machine) -> Iterator[Host]:
    """Connect to the machine's guest once it shows its host key and accepts our login; the
    connection closes with the block. Raises RentalFailed."""
    host = order.watch.host(machine.access, machine.address)
    try:
        if order.bare_metal:
            order.watch.note(
                f"{machine.name} is bare metal: "
                f"SSH may take up to {order.timing.ssh_s / 60:.0f} minutes"
            )

        def connected() -> bool | Still:
            if (away := machine.alive()) is not None:
                return away
            try:
                host.connect()
            except (HostUnavailable, ConnectionLost) as error:
                return Still(error.message)
            return True

        what, timing = f"SSH to {machine.address}", order.timing
        advice = _if_unreached(order.details.ssh_cidr)
        until(connected, what, timing.ssh_s, timing, order.watch, advice=advice)
        order.watch.note(f"{machine.name} answers at {machine.address}")
        yield host
    finally:
        host.close()


def _if_unreached(cidr: str | None) -> str:
    """What to look at where a running machine never answers SSH."""
    if cidr is None:
        return "look whether your own group, rules or network let this machine connect to port 22"
    return (
        f"SSH was admitted from {cidr} only: if this machine connects from another address (a VPN, "
        "a proxy, a worker elsewhere), give that with --ssh-cidr; else try again, or another --zone"
    )


def disks_before_ours(order: Order, guest: Host, *, attached: bool) -> tuple[GuestDisk, ...] | None:
    """As guest.disks_before; repeated while the connection is broken."""
    return order.ask_guest("its disks", lambda: disks_before(guest, attached=attached))


def keys_of(guest_disks: Iterable[GuestDisk] | None) -> frozenset[str]:
    """The keys by which the guest's disks are recognised later."""
    return frozenset(key for disk in guest_disks or () for key in disk.keys)


def verified(
    answering: Sequence[GuestDisk],
    name: str,
    size_bytes: int,
    known: frozenset[str],
    *,
    keys: Callable[[GuestDisk], frozenset[str]] = lambda disk: disk.keys,
    origin: str = "image",
) -> GuestDisk | None:
    """The one disk of the guest that answers to `name`, verified by novelty (`known` are the
    `keys` of the disks before the attachment) and exact size in bytes: pure. None while no disk
    answers. Raises RentalFailed when another disk does, or several; `origin` is where their
    misleading names come from."""
    if not answering:
        return None
    if len(answering) > 1:
        nodes = ", ".join(disk.node for disk in answering)
        raise refused("several disks of a name", name=name, nodes=nodes)
    disk = answering[0]
    if known & keys(disk):
        raise refused("disk that was there before", disk=disk, name=name, origin=origin)
    check_size(disk, name, size_bytes)
    return disk


def check_size(disk: GuestDisk, name: str, size_bytes: int) -> None:
    """Raise RentalFailed unless the disk has exactly the size of `name`."""
    if disk.size_bytes != size_bytes:
        raise refused("disk of another size", disk=disk, name=name, size_bytes=size_bytes)


def await_gone(
    order: Order,
    guest: Host,
    what: str,
    still_shown: Callable[[tuple[GuestDisk, ...]], Sequence[str]],
) -> None:
    """Wait until the guest shows none of the disks of earlier turns, because the next ones have the
    same names there. `still_shown` returns the names of those that are among the guest's disks."""

    def ask() -> bool | Still:
        names = ", ".join(still_shown(disks(guest)))
        return Still(f"{names} is still seen in the guest") if names else True

    order.ask_guest(what, ask)


def acquired(
    order: Order,
    machine: Machine,
    shown: Sequence[GuestDisk] = (),
    directory: str | None = None,
    *,
    size_bytes: int,
    facts: Mapping[str, Any],
    made: Sequence[str] = (),
    path: Callable[[GuestDisk], str] = lambda disk: disk.path,
    identity: Callable[[GuestDisk], str] = lambda disk: disk.identity,
) -> Acquired:
    """The result for the engine: raw disks (`shown` in the guest), unless a directory is measured.
    `path` and `identity` return a disk's device name and identity in the cloud's guests."""
    raw = () if directory else shown
    return Acquired(
        address=machine.address,
        device=path(raw[0]) if raw else None,
        directory=directory,
        devices=tuple(path(disk) for disk in raw),
        identities=tuple(identity(disk) for disk in raw),
        identity=identity(raw[0]) if raw else None,
        made=tuple(made),
        size_bytes=size_bytes,
        facts=dict(facts),
        emulated=order.details.emulated,
        ssh=machine.access,
    )


def refuse(cloud: str, differences: Iterable[str]) -> None:
    """Raise RentalFailed naming every difference, as requested and as reported; without
    differences, return. `cloud` is the cloud's name in messages."""
    texts = tuple(differences)
    if texts:
        raise refused("something else delivered", cloud=cloud, texts="; ".join(texts))


def differs(what: str, name: str, requested: object, reported: object) -> Iterator[str]:
    """The difference between the requested and the reported value; None where the cloud reports
    no value (None) or none was requested."""
    if requested is not None and reported is not None and requested != reported:
        yield f"{name} of {what} is {reported}, but {requested} was requested"
