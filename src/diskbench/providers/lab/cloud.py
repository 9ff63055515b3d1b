"""`--provider lab` as the engine uses it; machines.py makes the machines."""

import os
from collections.abc import Sequence
from typing import get_args

from diskbench.catalog.books import Books
from diskbench.catalog.lookup import disk_types, promise
from diskbench.catalog.machine import machine_of
from diskbench.catalog.path import without_cache
from diskbench.catalog.shipped import caches_disks
from diskbench.errors import (
    DiskbenchError,
    HostUnavailable,
    Interrupted,
    ReleaseFailed,
    RentalFailed,
    UnknownName,
)
from diskbench.model.finding import Finding, finding, refusal
from diskbench.model.options import RentSpec
from diskbench.model.rental import CUSTOM, Acquired, Claim, DiskSpec, Found, LeaseEnd, Rental, Scope
from diskbench.model.spec import Cell
from diskbench.ports import Host, RentWatch
from diskbench.providers.asked import check_own, size_asked
from diskbench.providers.lab import hotplug, machines
from diskbench.providers.lab.places import refused
from diskbench.providers.lab.plugin import PLUGIN, LabOptions
from diskbench.providers.lab.processes import find_groups
from diskbench.providers.lab.request import (
    Cache,
    LabRequest,
    Style,
    cloud_of,
    disk_limits,
    throughput_unit,
)
from diskbench.providers.lab.supervisor.rates import MachineGate
from diskbench.providers.options import EmulationOptions
from diskbench.units import MIB

STYLES: tuple[Style, ...] = get_args(Style)
_STYLE_OF_CLOUD: dict[str, Style] = {"aws": "aws-nvme", "azure": "azure", "gcp": "google"}
_SCOPE = Scope(provider="lab")
_COPY = "directory "
"""Prefix of the name of a directory that holds a copy of another lease's record."""


class LabProvider:
    """Hosts made of this machine, with disks as slow as a cloud's; always marked emulated."""

    name = "lab"

    def check(self, cell: Cell) -> None:
        machines.check(_request(_spec(cell)))

    def resolve(self, cell: Cell, books: Books) -> Rental:
        """No lookup is needed: the lab is this machine. Raises
        UnknownName for a machine type whose limits the catalogue does not know."""
        spec = _spec(cell)
        request = _request(spec)
        request = request.model_copy(update={"machine": _machine(spec, request.style, books)})
        assert request.disk is not None
        disk = request.disk
        words = _offer_line(spec, request, disk)
        return Rental(
            scope=_SCOPE,
            spec=spec,
            cloud=cloud_of(request.style),
            offer=f"a lab host on this machine with {words} ({request.style})",
            promise=promise(disk_limits(request.style, disk), request.time_scale),
            disk=disk,
            instance_type=spec.instance_type,
            cores=os.cpu_count(),
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            hourly_usd=0.0,
            holds_credit=True,
            details=request.model_dump(mode="json", exclude={"expires_at"}),
        )

    def foresee(self, cell: Cell, books: Books) -> Rental:
        """No call is needed."""
        return self.resolve(cell, books)

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        if watch.stopping():
            raise Interrupted("stopped before the lab host was made")
        request = LabRequest.model_validate({**rental.details, "expires_at": claim.expires_at})
        acquired = machines.acquire(claim.lease_id, request, owner=claim.owner)
        watch.note(f"lab host {acquired.address} is up with {', '.join(acquired.devices)}")
        return acquired

    def check_swap(self, cell: Cell) -> None:
        """A lab host takes any disk."""

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        if watch.stopping():
            raise Interrupted("stopped before the disk was changed")
        of_claim = {"expires_at": claim.expires_at, "turn": claim.turn}
        request = LabRequest.model_validate({**rental.details, **of_claim})
        try:
            acquired = hotplug.swap(claim.lease_id, request)
        except (HostUnavailable, ReleaseFailed) as error:
            raise RentalFailed(error.message, advice="start the run again") from error
        watch.note(f"lab host {acquired.address} has {acquired.device} now")
        return acquired

    def release(
        self,
        lease_id: str,
        scope: Scope,  # noqa: ARG002 - there is one lab
        *,
        made: Sequence[str] = (),  # noqa: ARG002 - a directory's name is its id
        copied: Sequence[str] = (),
    ) -> None:
        if not copied:
            machines.release(lease_id)
            return
        for copy in copied:
            machines.delete_copy(copy.removeprefix(_COPY))

    def found(self, scope: Scope) -> Sequence[Found]:  # noqa: ARG002 - there is one lab
        """An unusable host is reported as long expired."""
        machines.check_machine()
        stale, copies = machines.stale(), machines.copies()
        leases = machines.leases()
        return [
            Found(
                lease_id=lease_id,
                scope=_SCOPE,
                expires_at=0.0 if lease_id in stale else leases.get(lease_id),
                owner=machines.owner(lease_id),
                resources=(f"lab host {lease_id}",) if lease_id in leases else (),
                not_ours=tuple(f"{_COPY}{name}" for name in copies if copies[name] == lease_id),
            )
            for lease_id in sorted({*leases, *copies.values()})
        ]

    def examine(self, scope: Scope) -> Sequence[Finding]:  # noqa: ARG002 - there is one lab
        try:
            machines.check_machine()
            find_groups()
        except DiskbenchError as error:
            return [refusal("lab", "lab", error)]
        summary = "root, its programs and the kernel's throttles are there"
        return [finding("lab", "lab", "ok", summary)]

    def gone(self, lease_id: str, scope: Scope) -> str | None:  # noqa: ARG002 - there is one lab
        return None if machines.is_up(lease_id) else f"lab host {lease_id} was switched off"

    def extend(
        self,
        lease_id: str,
        scope: Scope,  # noqa: ARG002 - there is one lab
        end: LeaseEnd,
        guest: Host,  # noqa: ARG002 - it has no timer: `diskbench gc` alone ends it
        made: Sequence[str] = (),  # noqa: ARG002 - a host is found by its directory
    ) -> None:
        machines.extend(lease_id, end.expires_at)

    def set_credit(self, lease_id: str, *, on: bool) -> None:
        machines.set_credit(lease_id, on=on)


def _spec(cell: Cell) -> RentSpec:
    spec = cell.rent
    if spec is None or spec.disk is None:
        raise refused("no disk to make")
    check_own(spec, PLUGIN)
    if spec.stripe:
        raise refused("no RAID")
    return spec


def _request(spec: RentSpec) -> LabRequest:
    assert spec.disk is not None
    size_gib = size_asked(spec)
    lab = EmulationOptions.of(spec)
    style = _style(lab.style, spec.disk)
    return LabRequest(
        style=style,
        disk=DiskSpec(
            type=spec.disk, size_gib=size_gib, iops=spec.iops,
            throughput_mib_per_s=spec.throughput_mib_per_s, count=spec.count,
        ),
        vm_bytes_per_s=lab.vm_throughput_mib_per_s and lab.vm_throughput_mib_per_s * MIB,
        **lab.model_dump(exclude={"style", "vm_throughput_mib_per_s"}),
        cache=_cache(LabOptions.of(spec).cache, spec.disk, cloud_of(style)),
        **LabOptions.of(spec).model_dump(exclude={"cache"}),
    )  # fmt: skip


def _cache(typed: str | None, disk_type: str, cloud: str | None) -> Cache:
    """The requested host cache; refused for a disk that no machine caches."""
    name = (typed or "none").lower().replace("-", "")
    cache: Cache | None = next((cache for cache in get_args(Cache) if cache == name), None)
    if cache is None:
        raise UnknownName("host cache", typed or "", get_args(Cache), field="cache")
    if cache != "none" and disk_type != CUSTOM and not (cloud and caches_disks(cloud)):
        raise refused("disk never cached", typed=typed, disk_type=disk_type, custom=CUSTOM)
    return cache


def _style(typed: str | None, disk_type: str) -> Style:
    """The given style, else that of the cloud that sells the disk type."""
    if typed is not None:
        if named := [style for style in STYLES if style == typed]:
            return named[0]
        raise UnknownName("lab style", typed, STYLES, field="lab_style")
    sold = {name: cloud for cloud in _STYLE_OF_CLOUD for name in disk_types(cloud)}
    if disk_type not in {CUSTOM, *sold}:
        raise UnknownName("disk type", disk_type, [CUSTOM, *sold], field="disk")
    return "aws-nvme" if disk_type == CUSTOM else _STYLE_OF_CLOUD[sold[disk_type]]


def _offer_line(spec: RentSpec, request: LabRequest, disk: DiskSpec) -> str:
    words = f"{disk.count} × " if disk.count > 1 else ""
    words += f"{disk.type} of {disk.size_gib} GiB"
    words += f", {disk.iops:,} IOPS" if disk.iops else ""
    unit = throughput_unit(request.style, disk)
    words += f", {disk.throughput_mib_per_s:g} {unit}" if disk.throughput_mib_per_s else ""
    words += f", {request.latency_ms:g} ms late" if request.latency_ms else ""
    words += f", host cache {request.cache}" if request.cache != "none" else ""
    words += f", as slow as a {spec.instance_type}" if spec.instance_type else ""
    if request.hidden_burst:
        words += f", an undocumented burst of {request.hidden_burst:g} times its limits"
    return words


def _machine(spec: RentSpec, style: Style, books: Books) -> tuple[MachineGate, ...]:
    """The limits of the requested machine type; none without one."""
    if spec.instance_type is None:
        return ()
    cloud = cloud_of(style)
    limits = machine_of(books, cloud or "", spec.instance_type, spec.disk or "")
    if cloud is None or not limits.gates:
        known = books.of(cloud).machines.types if cloud else ()
        raise UnknownName("machine type with known limits", spec.instance_type, tuple(known))
    gates = limits.gates if LabOptions.of(spec).cache else without_cache(limits.gates)
    return tuple(
        MachineGate(
            counts=gate.counts, allowance=gate.allowance, covers=gate.covers,
            stage="cache" if gate.limit.startswith("vm-cached") else "disk",
            refill_per_s=gate.refill_per_s,
        )
        for gate in gates
    )  # fmt: skip
