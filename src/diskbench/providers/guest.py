"""Access to a lease's guest: connect, query, list its disks, await the end of the first boot, move
the timer that switches it off."""

import logging
import shlex
from collections.abc import Callable
from typing import TypeVar

import tenacity

from diskbench.errors import ConnectionLost, HostUnavailable
from diskbench.model.base import Frozen
from diskbench.model.rental import LeaseEnd
from diskbench.ports import Completed, Host, RentWatch
from diskbench.providers.cloud_init import extend_timer
from diskbench.providers.error_table import refused
from diskbench.providers.scripts import script
from diskbench.providers.waits import CloudTiming, Still, until

log = logging.getLogger(__name__)

ROOT_DIRECTORY = "/var/tmp"  # noqa: S108 - in the guest, where test files go on its root disk
"""A directory on the root disk of every image, even where /tmp is a tmpfs."""
_TIMER_S = 60.0
_TIMER_TRIES = 2
"""The number of attempts to move the timer of a guest whose connection breaks; our choice."""
_NO_TIMER = 3
"""The exit status of extend.sh where there is no timer."""

T = TypeVar("T")


def await_prepared(guest: Host, what: str, timing: CloudTiming, watch: RentWatch) -> None:
    """Wait until the first boot of the machine `what` is complete, so that it disturbs no
    measurement. Raises RentalFailed with the reason of a failed boot."""

    def prepared() -> bool | Still:
        try:
            report = said_of_guest(guest, "ready").text.strip()
        except (ConnectionLost, HostUnavailable) as error:
            return Still(error.message)
        state, _, why = report.partition(" ")
        if state == "failed":
            raise refused("first boot failed", why=why)
        return True if state == "ready" else Still("packages are being installed")

    until(prepared, f"first boot of {what}", timing.ready_s, timing, watch)


def ask_guest(what: str, ask: Callable[[], T | Still], timing: CloudTiming, watch: RentWatch) -> T:
    """The guest's answer; the query is repeated while the connection is broken."""

    def again() -> T | Still:
        try:
            return ask()
        except (ConnectionLost, HostUnavailable) as error:
            return Still(error.message)

    return until(again, f"{what} in the guest", timing.appear_s, timing, watch)


def move_timer(host: Host, end: LeaseEnd) -> None:
    """Move the guest's switch-off timer to `end`, earlier or later; idempotent. A guest without a
    timer (an image without systemd) does not end by itself: that is logged. Raises ConnectionLost
    or HostUnavailable when the guest does not answer, RentalFailed when it cannot move the timer;
    the timer then keeps its time."""
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
        raise refused("timer not moved", host=host, why=why)


class GuestDisk(Frozen):
    """One whole disk in the guest. `identity` is compared before a write; `wwn` separates the
    disks of one NVMe controller, which share its serial."""

    node: str
    number: str
    size_bytes: int
    identity: str
    serial: str = ""
    model: str = ""
    wwn: str = ""
    namespace: int | None = None
    """The id of an NVMe namespace (NSID), as its controller numbers it."""
    links: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The device name that does not depend on other attached disks."""
        return next(iter(self.links), self.node)

    @property
    def keys(self) -> frozenset[str]:
        """The keys that recognise the disk later: identity, and node with kernel number."""
        return frozenset({self.identity or self.node, f"{self.node} {self.number}"})


def said_of_guest(host: Host, *words: str) -> Completed:
    """What the guest says, as scripts/disks.py has it: by the Python that it has, as cloud-init
    needs one, too. Raises ConnectionLost."""
    python = '"$(command -v python3 || echo /usr/libexec/platform-python)"'
    return host.run(f"exec {python} -I -S -c {shlex.join((script('disks.py'), *words))}")


def disks(host: Host) -> tuple[GuestDisk, ...]:
    """The whole disks with a node in the guest's /dev now. Raises ConnectionLost."""
    return parse_disks(said_of_guest(host, "now").text)


def disks_before(host: Host, *, attached: bool) -> tuple[GuestDisk, ...] | None:
    """The disks before ours were attached. The first call stores them in the guest, so that a
    later call, by any process, returns the same; None when ours were `attached` already and
    nothing was stored."""
    answer = said_of_guest(host, "before", "attached" if attached else "")
    return None if answer.exit == 3 else parse_disks(answer.text)


def parse_disks(text: str) -> tuple[GuestDisk, ...]:
    """Parse the output of disks.py: pure."""
    parsed: list[GuestDisk] = []
    links: dict[str, list[str]] = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if fields[0] == "disk" and 7 <= len(fields) <= 9 and fields[3].isdecimal():
            _, node, number, sectors, identity, serial, model, *more = fields
            wwn, namespace = [*more, "", ""][:2]
            parsed.append(
                GuestDisk(
                    node=node, number=number, size_bytes=int(sectors) * 512, identity=identity,
                    serial=serial, model=model, wwn=wwn,
                    namespace=int(namespace) if namespace.isdecimal() else None,
                )
            )  # fmt: skip
        elif fields[0] == "link" and len(fields) == 3:
            links.setdefault(fields[2], []).append(fields[1])
    # A namespace has a second link (`…-ns-1`, `…_1`); the plain one is the shortest.
    return tuple(
        disk.model_copy(
            update={"links": tuple(sorted(links.get(disk.number, []), key=lambda x: (len(x), x)))}
        )
        for disk in parsed
    )
