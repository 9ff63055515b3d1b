"""`--provider stratus` as the engine sees it."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from diskbench.catalog.books import Books
from diskbench.catalog.cost import disk_part, machine_part, sum_usd
from diskbench.catalog.lookup import disk_types, limits, promise
from diskbench.errors import Interrupted, InvalidValue, RentalFailed, UnknownName
from diskbench.model.finding import Finding, Quota
from diskbench.model.rental import Acquired, Claim, DiskSpec, Found, LeaseEnd, Rental, Scope, Which
from diskbench.model.spec import Cell
from diskbench.ports import Host, RentWatch
from diskbench.providers.asked import check_own
from diskbench.providers.skeleton import leases
from diskbench.providers.skeleton.doctor import DryRun, nobody, rehearsed
from diskbench.providers.skeleton.provision import in_first_with_capacity, zones_from
from diskbench.units import GIB
from diskbench_stratus.client import Client
from diskbench_stratus.options import ALTITUDES, StratusOptions
from diskbench_stratus.plugin import PLUGIN

REGION = "sky-1"
ZONES = ("sky-1a", "sky-1b")
MACHINE = "puff-2"
KINDS = ("network", "machine", "disk")
"""What a lease consists of, in the order in which it is made; given back the other way round."""


class StratusProvider:
    """See diskbench.ports: the docstring of each method there is what it does here."""

    name = "stratus"

    def check(self, cell: Cell) -> None:
        spec = cell.rent
        if spec is None or spec.disk is None:
            raise InvalidValue(
                "--provider stratus needs a disk to rent",
                advice="add --disk vapor --size 10",
                field="provider",
            )
        check_own(spec, PLUGIN)
        if spec.disk not in disk_types(self.name):
            raise UnknownName("Stratus disk type", spec.disk, disk_types(self.name), field="disk")
        if spec.size_gib is None:
            raise InvalidValue("a disk needs a size", advice="add --size GIB", field="size")
        if spec.zone is not None and spec.zone not in ZONES:
            raise UnknownName("Stratus zone", spec.zone, ZONES, field="zone")
        altitude = StratusOptions.of(spec).altitude
        if altitude not in {None, *ALTITUDES}:
            raise UnknownName("altitude", altitude, ALTITUDES, field="altitude")
        if spec.count > 1 or spec.stripe:
            raise InvalidValue("a machine of Stratus has one disk", field="count")
        limits(self.name, spec.disk, spec.size_gib, spec.iops, spec.throughput_mib_per_s)

    def resolve(self, cell: Cell, books: Books) -> Rental:
        self.check(cell)
        spec = cell.rent
        assert spec is not None
        assert spec.disk is not None
        assert spec.size_gib is not None
        disk = DiskSpec(type=spec.disk, size_gib=spec.size_gib)
        promised = limits(self.name, spec.disk, spec.size_gib)
        prices = (
            machine_part(books, self.name, MACHINE, REGION),
            disk_part(books, self.name, disk, REGION, what="disk"),
        )
        altitude = StratusOptions.of(spec).altitude or "low"
        return Rental(
            scope=Scope(provider=self.name, account=spec.account or "ground", region=REGION),
            spec=spec,
            offer=f"{MACHINE} in {REGION} with {spec.disk} of {spec.size_gib} GiB, {altitude}",
            promise=promise(promised, spec.time_scale) if promised else "",
            zones=(spec.zone,) if spec.zone else ZONES,
            instance_type=MACHINE,
            disk=disk,
            cores=2,
            memory_bytes=8 * GIB,
            hourly_usd=sum_usd(prices),
            prices=prices,
        )

    def foresee(self, cell: Cell, books: Books) -> Rental:
        return self.resolve(cell, books)

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        client = Client()
        held = next((str(tags["zone"]) for _, tags in _of_lease(client, claim.lease_id)), None)
        return in_first_with_capacity(
            zones_from(rental.zones, held),
            lambda zone: self._in_zone(client, claim, rental, zone, watch),
            lambda: self.release(claim.lease_id, rental.scope),
            watch,
            region=REGION,
        )

    def check_swap(self, cell: Cell) -> None:
        """Every machine takes any disk."""

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        client = Client()
        gone = self.gone(claim.lease_id, rental.scope)
        if gone is not None:
            raise RentalFailed(gone, advice="start the run again")
        zone = next(str(tags["zone"]) for _, tags in _of_lease(client, claim.lease_id))
        before = _name(claim.lease_id, "disk")
        for name, tags in _of_lease(client, claim.lease_id):
            if name.startswith(before) and name != _disk(claim):
                client.delete(name, str(tags["zone"]))
        _make(client, claim, "disk", _disk(claim), zone, watch)
        return _handed_over(client, claim, rental, zone)

    def _in_zone(
        self, client: Client, claim: Claim, rental: Rental, zone: str, watch: RentWatch
    ) -> Acquired:
        for kind in KINDS:
            name = _disk(claim) if kind == "disk" else _name(claim.lease_id, kind)
            _make(client, claim, kind, name, zone, watch)
        return _handed_over(client, claim, rental, zone)

    def release(
        self, lease_id: str, scope: Scope, *, made: Sequence[str] = (), copied: Sequence[str] = ()
    ) -> None:
        client, which = Client(), Which(lease_id, made, copied)

        def list_lease(_deleted: Collection[str]) -> leases.Listed:
            carrying = {
                _told(name): (name, tags) for name, tags in _of_lease(client, lease_id, named=False)
            }
            return leases.parted(carrying, lambda told, one: which.takes(one[0], told))

        def give_back(found: leases.Listed, failures: leases.Failures) -> None:
            for name, tags in sorted(found.meant.values(), key=lambda one: -_order(one[0])):
                with leases.noting(failures, _told(name), lambda _: False):
                    client.delete(name, str(tags.get("zone")))

        with leases.giving_back(lease_id):
            leases.release(which, f"{scope.region}", list_lease, give_back)

    def found(self, scope: Scope) -> Sequence[Found]:
        return leases.by_lease(
            scope,
            (
                leases.Tagged(
                    lease_id=str(tags["lease"]),
                    told=_told(name),
                    name=name,
                    expires_at=tags.get("expires"),
                    owner=tags.get("owner"),
                )
                for name, tags in Client().things()
                if "lease" in tags
            ),
        )

    def extend(
        self, lease_id: str, scope: Scope, end: LeaseEnd, guest: Host, made: Sequence[str] = ()
    ) -> None:
        client, which = Client(), Which(lease_id, made)
        for name, tags in _of_lease(client, lease_id, named=False):
            if which.takes(name, _told(name)):
                client.retag(name, {**tags, "expires": end.expires_at})

    def gone(self, lease_id: str, scope: Scope) -> str | None:
        machine = _name(lease_id, "machine")
        there = any(name == machine for name, _ in Client().things())
        return None if there else f"{machine} was deleted"

    def present(self, scope: Scope) -> datetime:
        return datetime.now(UTC)

    def examine(self, scope: Scope) -> Sequence[Finding]:
        told = f"tenant {scope.account or 'ground'}"
        return [Finding(check="credentials", where=f"stratus {REGION}", state="ok", told=told)]

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        client, claim = Client(), nobody()

        def run(kind: str, zone: str) -> DryRun:
            name = _name(claim.lease_id, kind)
            return f"{kind} in {zone}", lambda: client.check(kind, name, zone)

        runs = [run(kind, zone) for zone in rental.zones for kind in KINDS]
        return rehearsed(
            f"stratus {REGION}", runs, advice="log in: stratus login", untried="what deletes"
        )

    def quotas(self, scope: Scope) -> Sequence[Quota]:
        return []

    def regions(self, scope: Scope) -> Sequence[str]:
        return (REGION,)


def _make(client: Client, claim: Claim, kind: str, name: str, zone: str, watch: RentWatch) -> None:
    if watch.stopping():
        raise Interrupted("stopped while renting")
    tags = {"lease": claim.lease_id, "expires": claim.expires_at, "owner": claim.owner}
    client.create(kind, name, zone, tags)
    watch.note(f"{kind} {name} is there")


def _handed_over(client: Client, claim: Claim, rental: Rental, zone: str) -> Acquired:
    """The machine is this one, and its disk a directory: all that an invented cloud can give."""
    assert rental.disk is not None
    return Acquired(
        address="",
        directory=str(client.cloud.directory(_disk(claim))),
        made=tuple(_told(name) for name, _ in _of_lease(client, claim.lease_id)),
        size_bytes=rental.disk.size_gib * GIB,
        facts={
            "zone": zone,
            "instance_id": f"i-{claim.lease_id}",
            "instance_type": MACHINE,
            "altitude": StratusOptions.of(rental.spec).altitude or "low",
        },
        emulated=True,
    )


def _of_lease(
    client: Client, lease_id: str, *, named: bool = True
) -> list[tuple[str, dict[str, Any]]]:
    """Name and tags of everything that carries the lease; with `named`, and that has its name."""
    begin = _name(lease_id, "")
    return [
        (name, tags)
        for name, tags in client.things()
        if tags.get("lease") == lease_id and (not named or name.startswith(begin))
    ]


def _name(lease_id: str, kind: str) -> str:
    return f"diskbench-{lease_id}-{kind}"


def _disk(claim: Claim) -> str:
    return _name(claim.lease_id, "disk" if claim.turn == 1 else f"disk{claim.turn}")


def _told(name: str) -> str:
    return f"thing {name}"


def _order(name: str) -> int:
    kind = name.rpartition("-")[2]
    return KINDS.index(kind) if kind in KINDS else len(KINDS)
