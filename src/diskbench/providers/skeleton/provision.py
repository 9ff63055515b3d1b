"""The order for a lease's resources, and the zones to try in turn."""

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from diskbench.errors import NoCapacity
from diskbench.model.options import RentSpec
from diskbench.model.rental import Claim, SshAccess
from diskbench.ports import RentWatch
from diskbench.providers.cloud_init import GuestSpec, uptime_limit_s
from diskbench.providers.error_table import refused
from diskbench.providers.guest import ask_guest
from diskbench.providers.keys import LeaseKeys, lease_directory, write_access
from diskbench.providers.options import EmulationOptions
from diskbench.providers.skeleton.offer import RentalDetails
from diskbench.providers.waits import CloudTiming, Still, until

T = TypeVar("T")

_HOSTNAME = 63
"""Characters that a label of a host's name may have (RFC 1123)."""


def name_of(lease_id: str, kind: str) -> str:
    """`diskbench-LEASE-KIND`."""
    return f"diskbench-{lease_id}-{kind}"


def disk_kind(index: int, turn: int = 1) -> str:
    """The kind of the disk number `index`, from 0, of a turn on its machine, from 1."""
    return f"disk-{index}" if turn == 1 else f"disk-{turn}-{index}"


def token_of(cloud: uuid.UUID, lease_id: str, role: str, request: Mapping[str, Any]) -> str:
    """The token by which a cloud knows a repeated request: UUIDv5 of lease, role and the request's
    digest, because clouds refuse a different request with the same token."""
    digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
    return str(uuid.uuid5(cloud, f"{lease_id}/{role}/{digest}"))


@dataclass(frozen=True, kw_only=True)
class Order:
    """The resources to make, for which claim, observed by which watch. `details` is the result
    of `resolve`."""

    claim: Claim
    spec: RentSpec
    details: RentalDetails
    keys: LeaseKeys
    watch: RentWatch
    timing: CloudTiming

    @property
    def lease(self) -> str:
        """The lease's id."""
        return self.claim.lease_id

    @property
    def machine_name(self) -> str:
        """The name of the lease's machine."""
        return name_of(self.lease, "machine")

    def disk_name(self, index: int) -> str:
        """The name of the disk number `index` of this turn."""
        return name_of(self.lease, disk_kind(index, self.claim.turn))

    def is_earlier(self, name: str, count: int) -> bool:
        """Whether a disk was measured in another turn, where this one measures `count`; false for
        the machine's root."""
        mine = {self.disk_name(index) for index in range(count)}
        return name.startswith(name_of(self.lease, "disk-")) and name not in mine

    @property
    def lab(self) -> str:
        """The options of an emulated cloud, for a tag; empty for the real one."""
        return EmulationOptions.of(self.spec).tag() if self.details.emulated else ""

    @property
    def bare_metal(self) -> bool:
        """Whether the machine is a whole server, which takes longer to answer than a virtual one
        (CloudTiming.for_bare_metal); a cloud that sells such machines overrides it."""
        return False

    def until(self, ask: Callable[[], T | Still], what: str, limit_s: float) -> T:
        """The answer of `ask` once it is not Still; raises as `waits.until` does."""
        return until(ask, what, limit_s, self.timing, self.watch)

    def ask_guest(self, what: str, ask: Callable[[], T | Still]) -> T:
        """The answer of `ask` from the guest; raises as `guest.ask_guest` does."""
        return ask_guest(what, ask, self.timing, self.watch)

    def access(self, address: str, user: str, proxy_command: str | None = None) -> SshAccess:
        """Write the SSH access to the machine's address into the lease's directory;
        `proxy_command` is a route of the cloud's own to it."""
        return write_access(
            self.lease, self.keys, lease_directory(self.lease),
            address=address, user=user, proxy_command=proxy_command,
        )  # fmt: skip

    def guest(self, user: str, *, ends_at: float | None = None, **more: Any) -> GuestSpec:  # noqa: ANN401 - fields of GuestSpec
        """The guest's data for its first boot, with the packages that the disks need. The guest
        powers itself off at `ends_at` (Unix seconds), by default the lease's end."""
        end = self.claim.expires_at if ends_at is None else ends_at
        packages = ("fio", "mdadm") if self.spec.stripe else ("fio",)
        return GuestSpec(
            hostname=f"diskbench-{self.lease}"[:_HOSTNAME].rstrip("-"),
            user=user,
            host_key_private=self.keys.host_private,
            host_key_public=self.keys.host_public,
            authorized_key=self.keys.user_public,
            expires_at=end,
            uptime_limit_s=uptime_limit_s(self.lease, end),
            **{"packages": packages, **more},
        )


@dataclass(frozen=True)
class Provisioned:
    """A running machine, and its disks in the same zone, in order, as the cloud describes them;
    `place` is the zone in the cloud's own form."""

    machine: dict[str, Any]
    disks: tuple[dict[str, Any], ...]
    place: Any


Z = TypeVar("Z")


def zones_from(zones: Sequence[Z], held_zone: Z | None) -> Sequence[Z]:
    """The zones to try: from `held_zone` on, the zone where the lease has a machine already."""
    is_one = held_zone is not None and held_zone in zones
    return zones[zones.index(held_zone) :] if is_one else zones


def in_first_with_capacity(
    zones: Sequence[Z],
    rent: Callable[[Z], T],
    undo: Callable[[], None],
    watch: RentWatch,
    *,
    region: str,
    name: Callable[[Z], str] = str,
) -> T:
    """The result of `rent` in the first zone with capacity. `undo` deletes what was made in a zone
    that then lacked capacity; `name` is a zone's name in messages. Raises NoCapacity with the
    answer of each zone when all lack capacity."""
    answers: list[str] = []
    for position, zone in enumerate(zones):
        try:
            return rent(zone)
        except NoCapacity as error:
            answers.append(f"{name(zone)}: {error.message}")
            following = [f"; trying {name(after)}" for after in zones[position + 1 : position + 2]]
            watch.note(f"no capacity in {name(zone)}{''.join(following)}")
            undo()
    raise refused(
        "no capacity", region=region, answers="; ".join(answers) or "it has no zone to rent in"
    )
