"""The path from a plan's machine to its disk, from what was rented or promised: pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from diskbench.catalog.bucket import (
    LAB_CUT_BYTES,
    NO_RULE,
    Allowance,
    IoAccounting,
    cut_at,
    scaled,
)
from diskbench.catalog.charges import disk_limits
from diskbench.catalog.entry import known_catalogue
from diskbench.catalog.expect import CatalogDisk, path_of, promised_path
from diskbench.catalog.lookup import DiskLimits, RequestLatency, custom_limits
from diskbench.catalog.machine import MachineLimits, capped, machine_of
from diskbench.catalog.path import Gate, Path
from diskbench.catalog.terms import bursting_limits, tier_limits
from diskbench.errors import UserError
from diskbench.model.rental import CUSTOM
from diskbench.model.spec import EMULATED_PROVIDERS
from diskbench.units import MIB

if TYPE_CHECKING:
    from diskbench.catalog.books import Books
    from diskbench.catalog.path import Cache
    from diskbench.model.expectation import Promise
    from diskbench.model.options import RentSpec
    from diskbench.model.rental import DiskSpec, Rental
    from diskbench.model.spec import Plan

_CACHES: dict[str, Cache] = {"readonly": "read-only", "readwrite": "read-write"}


@dataclass(frozen=True)
class LimitPath:
    """A path, the sources of its figures, and what is unknown about it. `limits` are those of one
    disk; None if it is in no catalogue. `holds_credit`: filling the disk spends no burst credit."""

    path: Path
    limits: DiskLimits | None = None
    sources: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    holds_credit: bool = False


def limit_path_of(plan: Plan, books: Books, *, disks: int | None = None) -> LimitPath | None:
    """Return the path to a plan's disk, or to all of its disks, or to `disks` of them; None if none
    of its limits is known. Limits of several disks are summed; those of the machine are not."""
    rental, promise = plan.rental, plan.cell.promise
    count = disks or max(len(plan.target.disks), 1)
    if rental is None:
        return promised_limit_path(promise, plan.cell.provider, count) if promise else None
    if disks is not None and rental.disk is not None:
        rental = rental.model_copy(update={"disk": rental.disk.model_copy(update={"count": disks})})
    limit = rental.spec.number("iops_limit")
    if limit is not None:
        return _limited(limit, rental, promise, count)
    rented = _rented(rental, books)
    if rented is not None and rented.path.gates:
        return rented
    return promised_limit_path(promise, rental.catalogue, count) if promise is not None else None


def promised_limit_path(promise: Promise, cloud: str, count: int = 1) -> LimitPath:
    """Return the path to a disk with the limits that its owner promised, or to `count` such disks;
    requests are counted by the rule of `cloud`."""
    figures = {"iops": promise.iops, "mb_per_s": promise.mb_per_s}
    of_all = promise.model_copy(
        update={name: value * count for name, value in figures.items() if value is not None}
    )
    return LimitPath(promised_path(of_all, _accounting(cloud)), sources=("--promise",))


def _accounting(cloud: str) -> IoAccounting | None:
    """Return how a cloud counts the requests of every disk; None if it has no such rule."""
    book = known_catalogue(cloud)
    return book.accounting.rule() if book and book.accounting else None


def _limited(limit: float, rental: Rental, promise: Promise | None, disks: int) -> LimitPath:
    """Return the path to disks with an IOPS limit set on each, and their promised limits."""
    cloud, count = rental.catalogue, rental.disk.count if rental.disk else 1
    book = known_catalogue(cloud)
    rule = book.accounting if book else None
    source_words = f"; {book.sources[rule.source].words()}" if book and rule else ""
    gate = Gate(
        "disk-iops",
        "ios",
        Allowance(limit * count),
        accounting=rule.rule() if rule else NO_RULE,
        source=f"--iops-limit{source_words}",
    )
    if promise is None:
        return LimitPath(Path((gate,)), sources=(gate.source,))
    limit_path = promised_limit_path(promise, cloud, disks)
    return LimitPath(
        Path((gate, *limit_path.path.gates)), sources=(gate.source, *limit_path.sources)
    )


def _rented(rental: Rental, books: Books) -> LimitPath | None:
    if rental.disk is None:
        return None
    cloud, spec = rental.catalogue, rental.spec
    disk = _limits(cloud, rental.disk, spec)
    if disk is None:
        return None
    on_lab = rental.scope.provider in EMULATED_PROVIDERS or rental.spec.endpoint_url is not None
    machine = machine_of(books, cloud, rental.instance_type, rental.disk.type)
    if on_lab:
        disk = replace(disk, accounting=cut_at(disk.accounting, LAB_CUT_BYTES))
    rate = (spec.number("vm_throughput_mib_per_s") or 0) * MIB
    caps = capped("lab", spec.number("vm_iops"), rate, "--vm-…", disk.accounting)
    if rental.scope.provider in EMULATED_PROVIDERS:
        gates = tuple(
            replace(gate, allowance=scaled(gate.allowance, time_scale=spec.time_scale))
            for gate in machine.gates
        )
        machine = MachineLimits(machine.name or caps.name, (*gates, *caps.gates))
    elif caps.gates:
        machine = MachineLimits(machine.name, (*machine.gates, *caps.gates), machine.unknown)
    if on_lab:  # a lab disk has exactly the latency that --latency sets
        median_ms = spec.number("latency_ms") or 0.0
        latency = RequestLatency(median_ms, None, median_ms, "--latency")
        disk = replace(disk, latency=latency if median_ms else None, write_latency=None)
    cache = (spec.text("cache") or "none").lower().replace("-", "")
    path = path_of(
        CatalogDisk(disk, rental.disk.count, _CACHES.get(cache, "none"), spec.time_scale), machine
    )
    if on_lab:
        path = replace(path, hit=None)
    sources = [source.words() for source in disk.sources]
    sources += [gate.source for gate in machine.gates]
    unknown = (machine.unknown,) if machine.unknown else ()
    if not disk.pools:
        unknown = (*unknown, f"limits of {rental.disk.type}")
    return LimitPath(path, disk, tuple(dict.fromkeys(sources)), unknown, rental.holds_credit)


def _limits(cloud: str, disk: DiskSpec, spec: RentSpec) -> DiskLimits | None:
    """Return the limits of one disk in the requested performance tier and bursting mode."""
    if disk.type == CUSTOM:
        return custom_limits(disk.size_gib, disk.iops, disk.throughput_mib_per_s, disk.io_kib)
    sold = disk_limits(cloud, disk)
    if sold is None:
        return None
    try:
        if tier := spec.text("performance_tier"):
            sold = tier_limits(cloud, disk.type, tier, disk.size_gib)
        return bursting_limits(cloud, sold) if spec.flag("bursting") else sold
    except UserError:  # the catalogue has no such tier or bursting, so the limits are unknown
        return sold
