"""What a machine lets through to its disks: its own gates, apart from those of the disks.

AWS: the maximum of an EBS-optimised type whose baseline is lower is had for 30 minutes at least
once in 24 hours (ebs-optimized.md, 2023-05-11): a bucket of (maximum - baseline) × 1,800 s that is
taken to regain no more than one filling a day. Azure: what is above the baseline bursts for 30
minutes from a full bucket (disk-bursting.md); the path of disks without a host cache and that of
cached ones have a limit each. Google: one limit for all disks of a type together, by vCPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from diskbench.catalog.bucket import NO_RULE, Allowance, IoAccounting, of_duration
from diskbench.catalog.gate import Gate
from diskbench.catalog.gce_machines import machine_book, vcpus_of
from diskbench.units import KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.catalog.books import Books
    from diskbench.catalog.entry import Source
    from diskbench.catalog.instances import EbsBurst
    from diskbench.model.expectation import LimitName

_MB = 10**6
_EBS_IO = IoAccounting(max_io_bytes=256 * KIB)
AZURE_BURST_S = 1800.0
"""How long a full bucket bears a size's burst (disk-bursting.md, 2023-05-02)."""
LOCAL_TYPES = frozenset({"instance-store", "temp-disk", "local-ssd"})
"""Disks in the machine itself: no network path limits them."""


@dataclass(frozen=True)
class Machine:
    """The gates of one machine; `unknown` says why there are none, where figures are missing."""

    name: str
    gates: tuple[Gate, ...] = ()
    unknown: str = ""


def machine_of(books: Books, cloud: str, machine_type: str | None, disk_type: str) -> Machine:
    """The gates between a machine and its disks of a type."""
    name = machine_type or ""
    if not name:
        return Machine("")
    if cloud == "aws":
        return _aws_store(books, name) if disk_type in LOCAL_TYPES else _aws(books, name)
    if cloud == "azure":
        return _azure(books, name, disk_type)
    if cloud == "gcp" and disk_type not in LOCAL_TYPES:
        return _gcp(name, disk_type)
    return Machine(name)


def capped(
    name: str,
    iops: float | None,
    bytes_per_s: float | None,
    source: str,
    accounting: IoAccounting = NO_RULE,
) -> Machine:
    """A machine of which the caps are given (the lab's `--vm-iops`, `--vm-throughput`); its
    requests are counted as its disks count them."""
    gates: list[Gate] = []
    if iops:
        gates.append(Gate("vm-iops", "ios", Allowance(iops), accounting=accounting, source=source))
    if bytes_per_s:
        rate = Allowance(bytes_per_s)
        gates.append(Gate("vm-throughput", "bytes", rate, accounting=accounting, source=source))
    return Machine(name, tuple(gates))


def _aws(books: Books, name: str) -> Machine:
    book = books.aws
    entry = book.instances.get(name)
    if entry is None:
        return Machine(name, unknown=f"limits of {name} towards EBS")
    if entry.baseline_iops is None and entry.baseline_mb_per_s is None:
        return Machine(name, unknown=f"limits of {name} towards EBS (it has no path of its own)")
    burst = book.ebs_burst
    source = _told(book.sources, entry.source)
    gates = []
    if entry.baseline_iops is not None:
        most = entry.max_iops or 0.0
        gates.append(_ebs("vm-iops", "ios", entry.baseline_iops, most, burst, source))
    if entry.baseline_mb_per_s is not None:
        most = (entry.max_mb_per_s or 0.0) * _MB
        baseline = entry.baseline_mb_per_s * _MB
        gates.append(_ebs("vm-throughput", "bytes", baseline, most, burst, source))
    return Machine(name, tuple(gates))


def _aws_store(books: Books, name: str) -> Machine:
    book = books.aws
    entry = book.instances.get(name)
    speed = entry.local.speed if entry and entry.local else None
    if speed is None:
        return Machine(name, unknown=f"limits of the instance store of {name}")
    source = _told(book.sources, speed.source)
    reads, writes = Allowance(speed.read_iops), Allowance(speed.write_iops)
    return Machine(
        name,
        (
            Gate("disk-iops", "ios", reads, "read", source=source),
            Gate("disk-iops", "ios", writes, "write", source=source),
        ),
    )


def _ebs(
    limit: LimitName,
    counts: Literal["ios", "bytes"],
    baseline: float,
    most: float,
    burst: EbsBurst,
    source: str,
) -> Gate:
    allowance = of_duration(baseline, most, burst.duration_s)
    return Gate(
        limit,
        counts,
        allowance,
        accounting=_EBS_IO,
        refill_per_s=allowance.capacity / burst.every_s if allowance.capacity else None,
        source=source,
    )


def _azure(books: Books, name: str, disk_type: str) -> Machine:
    book = books.azure
    size = book.sizes.get(name)
    if size is None:
        return Machine(name, unknown=f"limits of {name} towards its disks")
    source = _told(book.sources, size.source)
    uncached = (
        Gate(
            "vm-iops",
            "ios",
            of_duration(size.iops, size.burst_iops or 0.0, AZURE_BURST_S),
            source=source,
        ),
        Gate(
            "vm-throughput",
            "bytes",
            of_duration(size.mb_per_s * _MB, (size.burst_mb_per_s or 0.0) * _MB, AZURE_BURST_S),
            source=source,
        ),
    )
    cached = []
    if size.cached_iops is not None:
        cached.append(Gate("vm-cached-iops", "ios", Allowance(size.cached_iops), source=source))
    if size.cached_mb_per_s is not None:
        rate = Allowance(size.cached_mb_per_s * _MB)
        cached.append(Gate("vm-cached-throughput", "bytes", rate, source=source))
    if disk_type == "temp-disk":
        missing = "" if cached else f"limits of the temporary disk of {name}"
        return Machine(name, tuple(cached), missing)
    return Machine(name, (*uncached, *cached))


def _gcp(name: str, disk_type: str) -> Machine:
    book = machine_book()
    series, vcpus = book.series_of(name), vcpus_of(name)
    fit = series.disks.get(disk_type) if series else None
    cap = fit.cap(vcpus) if fit and vcpus else None
    if fit is None or cap is None:
        return Machine(name, unknown=f"limits of {name} towards {disk_type}")
    source = _told(book.sources, fit.source)
    return Machine(
        name,
        (
            Gate("vm-iops", "ios", Allowance(cap.read_iops), "read", source=source),
            Gate("vm-iops", "ios", Allowance(cap.write_iops), "write", source=source),
            Gate(
                "vm-throughput",
                "bytes",
                Allowance(cap.read_mib_per_s * MIB),
                "read",
                source=source,
            ),
            Gate(
                "vm-throughput",
                "bytes",
                Allowance(cap.write_mib_per_s * MIB),
                "write",
                source=source,
            ),
        ),
    )


def _told(sources: Mapping[str, Source], key: str) -> str:
    return sources[key].words()
