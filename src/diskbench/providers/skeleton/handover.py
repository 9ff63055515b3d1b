"""From a machine that runs to what is handed over: reached, asked, and told to the engine."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.model.disk import Acquired
from diskbench.providers.guest import Guest, await_prepared, reach
from diskbench.providers.guest_disks import disks, disks_before

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from diskbench.model.disk import SshAccess
    from diskbench.providers.guest_disks import GuestDisk
    from diskbench.providers.skeleton.order import Order
    from diskbench.providers.waits import Still

    AnyOrder = Order[Any, Any]


@dataclass(frozen=True)
class Machine:
    """A machine that runs: what a person calls it (`instance i-0abc`), its address, how to get in,
    and how to ask whether it may still answer (raises when it is gone, Still says what is in the
    way)."""

    name: str
    address: str
    access: SshAccess
    alive: Callable[[], Still | None]


@dataclass(frozen=True)
class Seen:
    """The disks as the guest sees them, or a directory on one of its own."""

    disks: tuple[GuestDisk, ...] = ()
    directory: str | None = None


@contextlib.contextmanager
def reached(order: AnyOrder, machine: Machine) -> Iterator[Guest]:
    """The machine's guest once it shows its host key and lets us in; its connection ends with the
    block. Raises RentalFailed."""
    host = order.watch.host(machine.access, machine.address)
    try:
        guest = Guest(host, machine.address)
        reach(guest, machine.alive, order.timing, order.watch)
        order.watch.note(f"{machine.name} answers at {machine.address}")
        yield guest
    finally:
        host.close()


def disks_before_ours(
    order: AnyOrder, guest: Guest, *, attached: bool
) -> tuple[GuestDisk, ...] | None:
    """See guest_disks.disks_before; asked again while the connection is broken."""
    return order.ask_guest("its disks", lambda: disks_before(guest.host, attached=attached))


def disks_now(order: AnyOrder, guest: Guest) -> tuple[GuestDisk, ...]:
    """The guest's disks; asked again while the connection is broken."""
    return order.ask_guest("its disks", lambda: disks(guest.host))


def await_first_boot(order: AnyOrder, guest: Guest, name: str) -> None:
    """See guest.await_prepared."""
    await_prepared(guest, name, order.timing, order.watch)


def acquired(
    order: AnyOrder,
    machine: Machine,
    seen: Seen,
    *,
    size_bytes: int,
    facts: Mapping[str, Any],
    made: Sequence[str] = (),
    path: Callable[[GuestDisk], str] = lambda disk: disk.path,
    identity: Callable[[GuestDisk], str] = lambda disk: disk.identity,
) -> Acquired:
    """What the engine is given: raw disks, unless a directory is measured. `path` and `identity`
    are what the cloud's disks are known by in its guests."""
    raw = () if seen.directory else seen.disks
    return Acquired(
        address=machine.address,
        device=path(raw[0]) if raw else None,
        directory=seen.directory,
        devices=tuple(path(disk) for disk in raw),
        identities=tuple(identity(disk) for disk in raw),
        identity=identity(raw[0]) if raw else None,
        made=tuple(made),
        size_bytes=size_bytes,
        facts=dict(facts),
        emulated=order.details.emulated,
        ssh=machine.access,
    )
