"""Getting into a guest that was just made: reach it, ask it, wait until its first boot is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from diskbench.errors import ConnectionLost, HostUnavailable, RentalFailed
from diskbench.providers.cloud_init import ready_script
from diskbench.providers.waits import Patience, Still, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.ports import Host, RentWatch

ROOT_DIRECTORY = "/var/tmp"  # noqa: S108 - in the guest, where test files go on its root disk
"""On the root disk of every image, whatever /tmp is."""
_READY_S = 30.0

T = TypeVar("T")


class GuestPatience(Patience, Protocol):
    """Seconds: until SSH answers, until the first boot's work is done, until a disk appears."""

    @property
    def ssh_s(self) -> float: ...  # noqa: D102 - told above
    @property
    def ready_s(self) -> float: ...  # noqa: D102
    @property
    def appear_s(self) -> float: ...  # noqa: D102


@dataclass(frozen=True)
class Guest:
    """The machine as it is reached: its host, and where that is."""

    host: Host
    address: str


@dataclass(frozen=True)
class _Answer(Generic[T]):
    """What was answered, whatever it is."""

    value: T


def reach(
    guest: Guest, alive: Callable[[], Still | None], timing: GuestPatience, watch: RentWatch
) -> None:
    """Wait until the machine shows its host key and lets us in. `alive` says what is in the way,
    and raises when the machine is gone. Raises RentalFailed."""

    def ask() -> bool | Still:
        away = alive()
        if away is not None:
            return away
        try:
            guest.host.connect()
        except (HostUnavailable, ConnectionLost) as error:
            return Still(error.message)
        return True

    until(ask, f"SSH to {guest.address}", timing.ssh_s, timing, watch)


def await_prepared(guest: Guest, what: str, timing: GuestPatience, watch: RentWatch) -> None:
    """Wait until the first boot's work is done in the guest of the machine `what`, so that it
    disturbs no measurement. Raises RentalFailed with what went wrong."""
    until(lambda: _prepared(guest), f"first boot of {what}", timing.ready_s, timing, watch)


def _prepared(guest: Guest) -> bool | Still:
    try:
        said = guest.host.run(ready_script(), timeout_s=_READY_S).text.strip()
    except (ConnectionLost, HostUnavailable) as error:
        return Still(error.message)
    state, _, why = said.partition(" ")
    if state == "ready":
        return True
    if state == "failed":
        raise RentalFailed(
            f"the machine could not be prepared: {why}",
            advice="does its subnet reach the package mirrors? or use an --image that has fio",
        )
    return Still("packages are being installed")


def ask_guest(
    what: str, ask: Callable[[], T | Still], timing: GuestPatience, watch: RentWatch
) -> T:
    """An answer of the guest; asked again while the connection is broken."""

    def again() -> _Answer[T] | Still:
        try:
            answer = ask()
        except (ConnectionLost, HostUnavailable) as error:
            return Still(error.message)
        return answer if isinstance(answer, Still) else _Answer(answer)

    return until(again, f"{what} in the guest", timing.appear_s, timing, watch).value
