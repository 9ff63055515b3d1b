"""`--provider fake`: a cloud that is a directory, to try the whole way of renting without one.

Its machine is this one and its disk a directory, so it measures nothing worth knowing and every
result is marked emulated. What it rents are files below one place, so that another process finds
them, and what goes wrong is written there too: a test says which zone has no room.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diskbench.errors import (
    AccessDenied,
    DiskbenchError,
    Interrupted,
    InvalidValue,
    NoCapacity,
    QuotaExceeded,
    ReleaseFailed,
    RentalFailed,
    UnknownName,
)
from diskbench.model.disk import Acquired, DiskSpec
from diskbench.model.ours import Which, is_named_for
from diskbench.model.rental import Rental, Scope
from diskbench.plugin import Plugin
from diskbench.providers.asked import check_own
from diskbench.providers.listed import Tagged, by_lease
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from diskbench.catalog.books import Books
    from diskbench.model.rental import Claim, Found, LeaseEnd
    from diskbench.model.spec import Cell
    from diskbench.ports import Host, RentWatch

VARIABLE = "DISKBENCH_FAKE_DIR"
"""Where the cloud lies; by default in the user's data directory."""
ZONES = ("fake-1a", "fake-1b")
DISKS = ("plain",)
_KINDS = ("network", "machine", "disk")
"""What a lease consists of, in the order in which it is made; given back the other way round."""
STUCK = "stuck"
_STUCK_S, _LOOK_S = 120.0, 0.05
_FAULTS: dict[str, tuple[type[DiskbenchError], str, str]] = {
    "capacity": (NoCapacity, "no machine is free", "try another zone"),
    "quota": (QuotaExceeded, "the quota of 0 machines is used up", "have it raised"),
    "access": (AccessDenied, "the credentials expired", "log in again"),
    "broken": (RentalFailed, "the machine never came up", "start the run again"),
}

PLUGIN = Plugin(
    name="fake",
    title="Fake cloud",
    summary="A cloud in a directory of this machine, to try out and to test renting.",
    provider="diskbench.providers.fake:FakeProvider",
    rents=True,
)


class FakeProvider:
    """A cloud in a directory of this machine, to try out and to test renting."""

    name = "fake"

    def check(self, cell: Cell) -> None:
        """See ports.Provider.check."""
        spec = cell.rent
        if spec is None or spec.disk is None:
            raise InvalidValue(
                "--provider fake needs a disk", advice="add --disk plain --size 1", field="provider"
            )
        check_own(spec, PLUGIN)
        if spec.disk not in DISKS:
            raise UnknownName("fake disk type", spec.disk, DISKS, field="disk")
        if spec.zone is not None and spec.zone not in ZONES:
            raise UnknownName("fake zone", spec.zone, ZONES, field="zone")
        if spec.count > 1 or spec.stripe:
            raise InvalidValue(f"--count {spec.count}: a fake machine has one disk", field="count")

    def resolve(self, cell: Cell, books: Books) -> Rental:  # noqa: ARG002 - it has no prices
        """See ports.Renter.resolve."""
        spec = cell.rent
        assert spec is not None
        assert spec.disk is not None
        return Rental(
            scope=Scope(provider=self.name, region="fake-1"),
            spec=spec,
            offer=f"a directory on this machine, called a {spec.disk} disk",
            zones=(spec.zone,) if spec.zone else ZONES,
            disk=DiskSpec(type=spec.disk, size_gib=spec.size_gib or 1),
            cores=os.cpu_count(),
            hourly_usd=0.0,
        )

    def foresee(self, cell: Cell, books: Books) -> Rental:
        """See ports.Foresees. There is nothing to ask."""
        return self.resolve(cell, books)

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.Renter.acquire."""
        for position, zone in enumerate(rental.zones):
            try:
                return self._in_zone(claim, rental, zone, watch)
            except NoCapacity as error:
                if position + 1 == len(rental.zones):
                    raise
                watch.note(f"{zone}: {error.message}; trying {rental.zones[position + 1]}")
        raise RentalFailed("no zone to rent in", advice="give --zone")

    def _in_zone(self, claim: Claim, rental: Rental, zone: str, watch: RentWatch) -> Acquired:
        for kind in _KINDS:
            self._rent(claim, kind, zone, watch)
        return self._handed_over(claim, rental, zone)

    def check_swap(self, cell: Cell) -> None:
        """See ports.SwapsDisks.check_swap: a fake machine takes any disk."""

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.SwapsDisks.swap."""
        gone = self.gone(claim.lease_id, rental.scope)
        if gone is not None:
            raise RentalFailed(gone, advice="start the run again")
        wanted = _resource(claim.lease_id, _disk(claim.turn))
        zone = rental.zones[0]
        for path, tags in _resources():
            if tags.get("diskbench-lease") != claim.lease_id or not is_named_for(
                claim.lease_id, path.name
            ):
                continue
            zone = str(tags.get("zone"))
            if path.name.startswith(_resource(claim.lease_id, "disk").name) and path != wanted:
                shutil.rmtree(path)
        self._rent(claim, _disk(claim.turn), zone, watch)
        return self._handed_over(claim, rental, zone)

    def _rent(self, claim: Claim, kind: str, zone: str, watch: RentWatch) -> None:
        if watch.stopping():
            raise Interrupted("stopped while renting")
        _raise_fault(kind, zone)
        _wait_while_stuck(kind, zone, watch)
        self._make(claim, kind, zone)
        watch.note(f"{kind} {_resource(claim.lease_id, kind).name} is there")

    def _handed_over(self, claim: Claim, rental: Rental, zone: str) -> Acquired:
        disk = _resource(claim.lease_id, _disk(claim.turn)) / "data"
        disk.mkdir(exist_ok=True)
        assert rental.disk is not None
        return Acquired(
            address="",
            directory=str(disk),
            made=_made(claim.lease_id),
            size_bytes=rental.disk.size_gib * GIB,
            facts={"zone": zone, "instance_id": f"fake-{claim.lease_id}"},
            emulated=True,
        )

    def _make(self, claim: Claim, kind: str, zone: str) -> None:
        """One resource, with its tags in the call that makes it; the second time finds it."""
        made = _resource(claim.lease_id, kind)
        if made.exists():
            return
        new = made.with_name(f".{made.name}")
        new.mkdir(parents=True, exist_ok=True)
        tags = {
            "diskbench-lease": claim.lease_id,
            "diskbench-expires": claim.expires_at,
            "diskbench-owner": claim.owner,
        }
        _write_tags(new, {**tags, "zone": zone})
        new.rename(made)

    def release(
        self,
        lease_id: str,
        scope: Scope,  # noqa: ARG002 - there is one
        *,
        made: Sequence[str] = (),
        copied: Sequence[str] = (),
    ) -> None:
        """See ports.Renter.release."""
        which = Which(lease_id, made, copied)
        failures, others = [], []
        for path, tags in _resources():
            if tags.get("diskbench-lease") != lease_id:
                continue
            if not which.takes(path.name, path.name):
                others.append(path.name)
                continue
            try:
                _raise_fault("release", str(tags.get("zone")))
                shutil.rmtree(path)
            except (OSError, RentalFailed, AccessDenied) as error:
                failures.append(f"{path.name}: {error}")
        which.warn(others)
        if failures:
            raise ReleaseFailed(
                f"not given back: {'; '.join(failures)}", advice=f"diskbench gc {lease_id}"
            )

    def found(self, scope: Scope) -> Sequence[Found]:
        """See ports.Renter.found."""
        return by_lease(
            scope,
            (
                Tagged(
                    lease_id=str(tags["diskbench-lease"]),
                    told=path.name,
                    name=path.name,
                    expires_at=tags.get("diskbench-expires"),
                    owner=tags.get("diskbench-owner"),
                )
                for path, tags in _resources()
                if "diskbench-lease" in tags
            ),
        )

    def extend(
        self,
        lease_id: str,
        scope: Scope,  # noqa: ARG002 - there is one
        end: LeaseEnd,
        guest: Host,  # noqa: ARG002 - this machine, which has no timer
        made: Sequence[str] = (),
    ) -> None:
        """See ports.ExtendsLeases."""
        which = Which(lease_id, made)
        for path, tags in _resources():
            if tags.get("diskbench-lease") == lease_id and which.takes(path.name, path.name):
                _write_tags(path, {**tags, "diskbench-expires": end.expires_at})

    def gone(self, lease_id: str, scope: Scope) -> str | None:  # noqa: ARG002 - there is one
        """See ports.Renter.gone."""
        machine = _resource(lease_id, "machine")
        return None if machine.exists() else f"{machine.name} was deleted"


def plan_fault(kind: str, zone: str, fault: str | None) -> None:
    """Let making a `kind` of resource (or `release`) in `zone` fail from now on, or no more.

    `fault` is capacity, quota, access, broken, or stuck.
    """
    file = _place() / "faults.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    faults = _faults()
    faults.pop(f"{kind}/{zone}", None)
    file.write_text(json.dumps({**faults, **({f"{kind}/{zone}": fault} if fault else {})}))


def _raise_fault(kind: str, zone: str) -> None:
    name = _faults().get(f"{kind}/{zone}")
    if name is not None and name != STUCK:
        kind_of_error, message, advice = _FAULTS[name]
        raise kind_of_error(message, advice=advice)


def _wait_while_stuck(kind: str, zone: str, watch: RentWatch) -> None:
    """A resource that stays in `creating` for as long as its fault is planned."""
    told = False
    deadline = time.monotonic() + _STUCK_S
    while _faults().get(f"{kind}/{zone}") == STUCK:
        if not told:
            watch.note(f"{kind}: creating")
            told = True
        if watch.stopping():
            raise Interrupted("stopped while renting")
        if time.monotonic() > deadline:
            raise RentalFailed(f"{kind} took longer than {_STUCK_S:g} s: creating")
        time.sleep(_LOOK_S)


def _faults() -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads((_place() / "faults.json").read_text())
    except FileNotFoundError:
        return {}
    return found


def _place() -> Path:
    from platformdirs import user_data_path

    named = os.environ.get(VARIABLE)
    return Path(named) if named else user_data_path("diskbench") / "fake-cloud"


def _resource(lease_id: str, kind: str) -> Path:
    return _place() / "resources" / f"diskbench-{lease_id}-{kind}"


def _resources() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Everything there is with its tags, disks before machines before networks."""
    place = _place() / "resources"
    found = sorted(place.iterdir()) if place.is_dir() else []
    for path in sorted(found, key=lambda p: -_order(p.name)):
        try:
            yield path, json.loads((path / "tags.json").read_text())
        except (FileNotFoundError, ValueError):
            continue


def _write_tags(path: Path, tags: Mapping[str, Any]) -> None:
    """Write the tags of a resource, whole or not at all: others list them meanwhile."""
    new = path / ".tags.json"
    new.write_text(json.dumps(tags))
    new.rename(path / "tags.json")


def _made(lease_id: str) -> tuple[str, ...]:
    """What there is of a lease."""
    return tuple(
        path.name
        for path, tags in _resources()
        if tags.get("diskbench-lease") == lease_id and is_named_for(lease_id, path.name)
    )


def _disk(turn: int) -> str:
    """The disk of a turn on the machine."""
    return "disk" if turn == 1 else f"disk{turn}"


def _order(name: str) -> int:
    kind = name.rpartition("-")[2]
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
