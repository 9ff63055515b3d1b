"""`--provider fake`: a cloud in a directory, to try the whole rental without a cloud.

Its machine is this one and its disk a directory, so its figures mean nothing and every result is
marked emulated. Its resources are files below one directory, so that another process finds them;
planned faults are stored there too: a test chooses the zone without capacity."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from diskbench import errors
from diskbench.catalog.books import Books
from diskbench.errors import DiskbenchError, Interrupted, RentalFailed, check_known
from diskbench.model import rental as rentals
from diskbench.model.rental import Acquired, Claim, Found, LeaseEnd, Rental, Scope, Which
from diskbench.model.spec import Cell
from diskbench.ports import Host, RentWatch
from diskbench.providers.asked import check_own
from diskbench.providers.error_table import refused
from diskbench.providers.fake import PLUGIN
from diskbench.providers.skeleton.leases import Failures, Listed, Tagged, by_lease, parted, release
from diskbench.providers.skeleton.provision import in_first_with_capacity
from diskbench.units import GIB

VARIABLE = "DISKBENCH_FAKE_DIR"
"""The cloud's directory; by default in the user's data directory."""
ZONES = ("fake-1a", "fake-1b")
DISKS = ("plain",)
_KINDS = ("network", "machine", "disk")
"""The kinds of a lease's resources in the order of making; released in reverse order."""
STUCK = "stuck"
_STUCK_S, _LOOK_S = 120.0, 0.05
_FAULTS: dict[str, tuple[type[DiskbenchError], str, str]] = {
    "capacity": (errors.NoCapacity, "no machine is free", "try another zone"),
    "quota": (errors.QuotaExceeded, "the quota of 0 machines is used up", "request a higher quota"),
    "access": (errors.AccessDenied, "the credentials expired", "log in again"),
    "broken": (RentalFailed, "the machine did not start", "start the run again"),
}


class FakeProvider:
    """A cloud in a directory of this machine, for trying and testing rentals."""

    name = "fake"

    def check(self, cell: Cell) -> None:
        spec = cell.rent
        if spec is None or spec.disk is None:
            raise refused("no fake disk")
        check_own(spec, PLUGIN)
        check_known("fake disk type", spec.disk, DISKS, field="disk")
        check_known("fake zone", spec.zone, ZONES, field="zone")
        if spec.count > 1 or spec.stripe:
            raise refused("several fake disks", spec=spec)

    def resolve(self, cell: Cell, books: Books) -> Rental:  # noqa: ARG002 - it has no prices
        spec = cell.rent
        assert spec is not None
        assert spec.disk is not None
        return Rental(
            scope=Scope(provider=self.name, region="fake-1"),
            spec=spec,
            offer=f"a directory on this machine, called a {spec.disk} disk",
            zones=(spec.zone,) if spec.zone else ZONES,
            disk=rentals.DiskSpec(type=spec.disk, size_gib=spec.size_gib or 1),
            cores=os.cpu_count(),
            hourly_usd=0.0,
        )

    def foresee(self, cell: Cell, books: Books) -> Rental:
        """No call is needed."""
        return self.resolve(cell, books)

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        def in_zone(zone: str) -> Acquired:
            for kind in _KINDS:
                self._rent(claim, kind, zone, watch)
            return self._handed_over(claim, rental, zone)

        region = str(rental.scope.region)
        return in_first_with_capacity(rental.zones, in_zone, lambda: None, watch, region=region)

    def check_swap(self, cell: Cell) -> None:
        """A fake machine takes any disk."""

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        gone = self.gone(claim.lease_id, rental.scope)
        if gone is not None:
            raise RentalFailed(gone, advice="start the run again")
        cloud, disk_name = _cloud(), _name(claim.lease_id, _disk(claim.turn))
        zone = rental.zones[0]
        for name, tags in _of_lease(claim.lease_id):
            zone = str(tags.get("zone"))
            if name.startswith(_name(claim.lease_id, "disk")) and name != disk_name:
                cloud.delete(name)
        self._rent(claim, _disk(claim.turn), zone, watch)
        return self._handed_over(claim, rental, zone)

    def _rent(self, claim: Claim, kind: str, zone: str, watch: RentWatch) -> None:
        if watch.stopping():
            raise Interrupted("stopped while renting")
        _raise_fault(kind, zone)
        _wait_while_stuck(kind, zone, watch)
        name = _name(claim.lease_id, kind)
        tags = {
            "diskbench-lease": claim.lease_id,
            "diskbench-expires": claim.expires_at,
            "diskbench-owner": claim.owner,
            "zone": zone,
        }
        _cloud().make(name, tags)
        watch.note(f"created {kind} {name}")

    def _handed_over(self, claim: Claim, rental: Rental, zone: str) -> Acquired:
        assert rental.disk is not None
        disk = _name(claim.lease_id, _disk(claim.turn))
        return Acquired(
            address="",
            directory=str(_cloud().directory(disk)),
            made=tuple(name for name, _ in _of_lease(claim.lease_id)),
            size_bytes=rental.disk.size_gib * GIB,
            facts={"zone": zone, "instance_id": f"fake-{claim.lease_id}"},
            emulated=True,
        )

    def release(
        self,
        lease_id: str,
        scope: Scope,  # noqa: ARG002 - there is one
        *,
        made: Sequence[str] = (),
        copied: Sequence[str] = (),
    ) -> None:
        which = Which(lease_id, made, copied)

        def list_lease(_: Collection[str]) -> Listed:
            carrying = dict(_of_lease(lease_id, named=False))
            return parted(carrying, lambda name, _: which.takes(name, name))

        def give_back(listing: Listed, failures: Failures) -> None:
            for name, tags in sorted(listing.meant.items(), key=lambda entry: -_order(entry[0])):
                try:
                    _raise_fault("release", str(tags.get("zone")))
                    _cloud().delete(name)
                except (OSError, RentalFailed, errors.AccessDenied) as error:
                    failures[name] = str(error)

        release(which, str(_cloud().place), list_lease, give_back)

    def found(self, scope: Scope) -> Sequence[Found]:
        tagged = (
            Tagged(
                str(tags["diskbench-lease"]), name, name,
                tags.get("diskbench-expires"), tags.get("diskbench-owner"),
            )
            for name, tags in _cloud().things()
            if "diskbench-lease" in tags
        )  # fmt: skip
        return by_lease(scope, tagged)

    def extend(
        self,
        lease_id: str,
        scope: Scope,  # noqa: ARG002 - there is one
        end: LeaseEnd,
        guest: Host,  # noqa: ARG002 - this machine, which has no timer
        made: Sequence[str] = (),
    ) -> None:
        which = Which(lease_id, made)
        for name, tags in _of_lease(lease_id, named=False):
            if which.takes(name, name):
                _cloud().tag(name, {**tags, "diskbench-expires": end.expires_at})

    def gone(self, lease_id: str, scope: Scope) -> str | None:  # noqa: ARG002 - there is one
        machine = _name(lease_id, "machine")
        return None if _cloud().exists(machine) else f"{machine} was deleted"


def plan_fault(kind: str, zone: str, fault: str | None) -> None:
    """Plan a fault for making a `kind` of resource (or for `release`) in `zone`, or remove it.
    `fault` is capacity, quota, access, broken, or stuck."""
    _cloud().plan_fault(kind, zone, fault)


def _raise_fault(kind: str, zone: str) -> None:
    name = _cloud().fault(kind, zone)
    if name is not None and name != STUCK:
        kind_of_error, message, advice = _FAULTS[name]
        raise kind_of_error(message, advice=advice)


def _wait_while_stuck(kind: str, zone: str, watch: RentWatch) -> None:
    """A resource that stays in `creating` for as long as its fault is planned."""
    deadline = time.monotonic() + _STUCK_S
    if _cloud().fault(kind, zone) == STUCK:
        watch.note(f"{kind}: creating")
    while _cloud().fault(kind, zone) == STUCK:
        if watch.stopping():
            raise Interrupted("stopped while renting")
        if time.monotonic() > deadline:
            raise RentalFailed(f"{kind} took longer than {_STUCK_S:g} s: creating")
        time.sleep(_LOOK_S)


def _cloud() -> FakeCloud:
    directory = os.environ.get(VARIABLE)
    return FakeCloud(Path(directory) if directory else user_data_path("diskbench") / "fake-cloud")


def _name(lease_id: str, kind: str) -> str:
    return f"diskbench-{lease_id}-{kind}"


def _of_lease(lease_id: str, *, named: bool = True) -> list[tuple[str, dict[str, Any]]]:
    """Name and tags of all resources of a lease; with `named`, only those with the lease's name."""
    listed = _cloud().things()
    tagged = [(name, tags) for name, tags in listed if tags.get("diskbench-lease") == lease_id]
    return [
        (name, tags) for name, tags in tagged if not named or rentals.is_named_for(lease_id, name)
    ]


def _disk(turn: int) -> str:
    return "disk" if turn == 1 else f"disk{turn}"


def _order(name: str) -> int:
    kind = name.rpartition("-")[2]
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


Tags = Mapping[str, Any]


@dataclass(frozen=True)
class FakeCloud:
    """A cloud in the directory `place`, which is made at first use."""

    place: Path

    def directory(self, name: str) -> Path:
        made = self._resource(name) / "data"
        made.mkdir(exist_ok=True)
        return made

    def exists(self, name: str) -> bool:
        return self._resource(name).exists()

    def things(self) -> Iterator[tuple[str, dict[str, Any]]]:
        place = self.place / "resources"
        for path in sorted(place.iterdir()) if place.is_dir() else []:
            try:
                yield path.name, json.loads((path / "tags.json").read_text())
            except (FileNotFoundError, ValueError):
                continue

    def make(self, name: str, tags: Tags) -> None:
        """Make a resource with its tags atomically; a second call finds it."""
        made = self._resource(name)
        if made.exists():
            return
        made.parent.mkdir(parents=True, exist_ok=True)
        new = self.place / "unmade" / name
        new.mkdir(parents=True, exist_ok=True)
        _write(new, tags)
        new.rename(made)

    def tag(self, name: str, tags: Tags) -> None:
        """Replace all tags of a resource atomically: other processes may list them meanwhile."""
        _write(self._resource(name), tags)

    def delete(self, name: str) -> None:
        """Delete a resource with its data; a missing one is no error. Raises OSError. It is gone at
        once: a process that is killed meanwhile leaves no resource whose tags are deleted already,
        which nobody would find."""
        trash = self.place / "deleted"
        trash.mkdir(parents=True, exist_ok=True)
        gone = Path(tempfile.mkdtemp(dir=trash))
        with contextlib.suppress(FileNotFoundError):
            self._resource(name).rename(gone / name)
        shutil.rmtree(gone)

    def fault(self, kind: str, zone: str) -> str | None:
        """The fault planned for a `kind` of resource (or for `release`) in a zone."""
        return self._faults().get(f"{kind}/{zone}")

    def plan_fault(self, kind: str, zone: str, fault: str | None) -> None:
        self.place.mkdir(parents=True, exist_ok=True)
        faults = self._faults()
        faults.pop(f"{kind}/{zone}", None)
        planned = {**faults, **({f"{kind}/{zone}": fault} if fault else {})}
        (self.place / "faults.json").write_text(json.dumps(planned))

    def _resource(self, name: str) -> Path:
        return self.place / "resources" / name

    def _faults(self) -> dict[str, str]:
        try:
            faults: dict[str, str] = json.loads((self.place / "faults.json").read_text())
        except FileNotFoundError:
            return {}
        return faults


def _write(resource: Path, tags: Tags) -> None:
    new = resource / ".tags.json"
    new.write_text(json.dumps(dict(tags)))
    new.rename(resource / "tags.json")
