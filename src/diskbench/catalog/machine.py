"""The limits of a machine towards its disks: its own gates, separate from those of the disks.

The figures are in the provider's machines.yaml (catalog/machine_book.py). I/O of a network
disk passes the machine's path, whose burst is a bucket; with a host cache it also passes the path
of cached disks. If a series caps a disk type, the caps apply to all disks of that type together.
I/O of a local disk passes the joint limit of the local disks, or, if the disk shares the device of
the host cache, only the path of cached disks.
"""

from typing import Literal

from diskbench.catalog.books import Books
from diskbench.catalog.bucket import NO_RULE, Allowance, IoAccounting, of_duration
from diskbench.catalog.machine_book import MachineBook, MachineEntry
from diskbench.catalog.path import Gate, Path
from diskbench.catalog.shipped import DiskEntry, known_catalogue
from diskbench.model.expectation import LimitName
from diskbench.units import MIB

_MB = 10**6


def machine_of(books: Books, cloud: str, machine_type: str | None, disk_type: str) -> Path:
    """Return the gates between a machine and its disks of a type; `unknown` says why there are none
    if figures are missing."""
    name = machine_type or ""
    book = books.of(cloud).machines
    if not name or not (book.types or book.series):
        return Path()
    limits = known_catalogue(cloud)
    disk = limits.disks.get(disk_type) if limits else None
    gates = _gates(book, name, disk_type, disk)
    unknown = () if gates is not None else (f"limits of {name} towards {disk_type}",)
    return Path(gates or (), unknown=unknown)


def capped(
    iops: float | None, bytes_per_s: float | None, source: str, accounting: IoAccounting = NO_RULE
) -> Path:
    """Return a machine with given caps (the lab's `--vm-iops`, `--vm-throughput`); its requests are
    counted by the rule of its disks."""
    gates: list[Gate] = []
    if iops:
        gates.append(Gate("vm-iops", "ios", Allowance(iops), accounting=accounting, source=source))
    if bytes_per_s:
        rate = Allowance(bytes_per_s)
        gates.append(Gate("vm-throughput", "bytes", rate, accounting=accounting, source=source))
    return Path(tuple(gates))


def _gates(
    book: MachineBook, name: str, disk_type: str, disk: DiskEntry | None
) -> tuple[Gate, ...] | None:
    """None where no figure is known."""
    entry = book.types.get(name)
    place = disk.place if disk else "network"
    if place == "machine" and disk is not None and disk.unknown is None:
        return ()  # the disk type has its own figures
    if place == "machine":
        return _local(book, entry)
    if place == "cache":
        return (_cached(book, entry) or None) if entry else None
    return _path(book, entry) if entry else _by_series(book, name, disk_type)


def _path(book: MachineBook, entry: MachineEntry) -> tuple[Gate, ...] | None:
    """The path to network disks, with that of cached ones behind it."""
    gates = []
    if entry.iops is not None:
        gates.append(_burstable(book, entry, "vm-iops", "ios", entry.iops, entry.burst_iops))
    if entry.mb_per_s is not None:
        baseline, burst = entry.mb_per_s * _MB, (entry.burst_mb_per_s or 0.0) * _MB
        gates.append(_burstable(book, entry, "vm-throughput", "bytes", baseline, burst))
    return (*gates, *_cached(book, entry)) if gates else None


def _burstable(
    book: MachineBook,
    entry: MachineEntry,
    limit: LimitName,
    counts: Literal["ios", "bytes"],
    baseline: float,
    most: float | None,
) -> Gate:
    burst = book.burst
    allowance = of_duration(baseline, most, burst.duration_s if burst else 0.0)
    every_s = burst.every_s if burst else None
    return Gate(
        limit,
        counts,
        allowance,
        accounting=book.accounting.rule() if book.accounting else NO_RULE,
        refill_per_s=allowance.capacity / every_s if allowance.capacity and every_s else None,
        source=book.sources[entry.source].words(),
    )


def _cached(book: MachineBook, entry: MachineEntry) -> tuple[Gate, ...]:
    source = book.sources[entry.source].words()
    gates = []
    if entry.cached_iops is not None:
        gates.append(Gate("vm-cached-iops", "ios", Allowance(entry.cached_iops), source=source))
    if entry.cached_mb_per_s is not None:
        rate = Allowance(entry.cached_mb_per_s * _MB)
        gates.append(Gate("vm-cached-throughput", "bytes", rate, source=source))
    return tuple(gates)


def _local(book: MachineBook, entry: MachineEntry | None) -> tuple[Gate, ...] | None:
    """Return the joint limits of the machine's local disks."""
    speed = entry.local.speed if entry and entry.local else None
    if speed is None:
        return None
    source = book.sources[speed.source].words()
    return (
        Gate("disk-iops", "ios", Allowance(speed.read_iops), "read", source=source),
        Gate("disk-iops", "ios", Allowance(speed.write_iops), "write", source=source),
    )


def _by_series(book: MachineBook, name: str, disk_type: str) -> tuple[Gate, ...] | None:
    """Return the caps of all disks of one type together, by the machine's vCPUs."""
    series, vcpus = book.series_of(name), book.vcpus_of(name)
    fit = series.disks.get(disk_type) if series else None
    cap = fit.cap(vcpus) if fit and vcpus else None
    if fit is None or cap is None:
        return None
    source = book.sources[fit.source].words()
    read, write = Allowance(cap.read_mib_per_s * MIB), Allowance(cap.write_mib_per_s * MIB)
    return (
        Gate("vm-iops", "ios", Allowance(cap.read_iops), "read", source=source),
        Gate("vm-iops", "ios", Allowance(cap.write_iops), "write", source=source),
        Gate("vm-throughput", "bytes", read, "read", source=source),
        Gate("vm-throughput", "bytes", write, "write", source=source),
    )
