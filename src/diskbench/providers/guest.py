"""Access to a lease's guest: connect, query, await the end of the first boot, move the timer
that switches it off."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import tenacity

from diskbench.errors import ConnectionLost, HostUnavailable, RentalFailed
from diskbench.providers.cloud_init import extend_timer, ready_script
from diskbench.providers.waits import Patience, Still, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.rental import LeaseEnd
    from diskbench.ports import Host, RentWatch

log = logging.getLogger(__name__)

ROOT_DIRECTORY = "/var/tmp"  # noqa: S108 - in the guest, where test files go on its root disk
"""A directory on the root disk of every image, even where /tmp is a tmpfs."""
_READY_S = 30.0
_TIMER_S = 60.0
_TIMER_TRIES = 2
"""The number of attempts to move the timer of a guest whose connection breaks; our choice."""
_NO_TIMER = 3
"""The exit status of extend.sh where there is no timer."""

T = TypeVar("T")


class GuestPatience(Patience, Protocol):
    """Timeouts in seconds: until SSH answers, until the first boot is complete, until a disk
    appears."""

    @property
    def ssh_s(self) -> float: ...
    @property
    def ready_s(self) -> float: ...
    @property
    def appear_s(self) -> float: ...


@dataclass(frozen=True)
class Guest:
    """The guest's host, and its address."""

    host: Host
    address: str


@dataclass(frozen=True)
class _Answer(Generic[T]):
    """Any answer."""

    value: T


def reach(
    guest: Guest,
    alive: Callable[[], Still | None],
    timing: GuestPatience,
    watch: RentWatch,
) -> None:
    """Wait until the machine shows its host key and accepts our login. `alive` returns the
    obstacle, and raises when the machine is gone. Raises RentalFailed."""

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
    """Wait until the first boot of the machine `what` is complete, so that it disturbs no
    measurement. Raises RentalFailed with the reason of a failed boot."""
    until(lambda: _prepared(guest), f"first boot of {what}", timing.ready_s, timing, watch)


def _prepared(guest: Guest) -> bool | Still:
    try:
        report = guest.host.run(ready_script(), timeout_s=_READY_S).text.strip()
    except (ConnectionLost, HostUnavailable) as error:
        return Still(error.message)
    state, _, why = report.partition(" ")
    if state == "ready":
        return True
    if state == "failed":
        raise RentalFailed(
            f"the machine could not be prepared: {why}",
            advice="check that its subnet reaches package mirrors, or use an --image that has fio",
        )
    return Still("packages are being installed")


def ask_guest(
    what: str, ask: Callable[[], T | Still], timing: GuestPatience, watch: RentWatch
) -> T:
    """The guest's answer; the query is repeated while the connection is broken."""

    def again() -> _Answer[T] | Still:
        try:
            answer = ask()
        except (ConnectionLost, HostUnavailable) as error:
            return Still(error.message)
        return answer if isinstance(answer, Still) else _Answer(answer)

    return until(again, f"{what} in the guest", timing.appear_s, timing, watch).value


def move_timer(host: Host, end: LeaseEnd) -> None:
    """Move the guest's switch-off timer to `end`, earlier or later; idempotent. A guest without a
    timer (an image without systemd) does not end by itself: that is logged.

    Raises ConnectionLost or HostUnavailable when the guest does not answer, RentalFailed when it
    cannot move the timer; the timer then keeps its time.
    """
    text = extend_timer(end.expires_at, left_s=max(end.left_s, 0.0))
    tries = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(_TIMER_TRIES),
        wait=tenacity.wait_random_exponential(multiplier=0.5, max=5),
        retry=tenacity.retry_if_exception_type((ConnectionLost, HostUnavailable)),
        reraise=True,
    )
    done = tries(lambda: host.run(text, timeout_s=_TIMER_S, root=True))
    if done.exit == _NO_TIMER:
        log.warning("%s has no timer that switches it off: none was moved", host.name)
    elif done.exit:
        why = done.stderr.decode(errors="replace").strip() or f"exit code {done.exit}"
        raise RentalFailed(
            f"the timer that switches {host.name} off could not be moved: {why}",
            advice="look at systemctl status diskbench-expire.timer on it",
        )
