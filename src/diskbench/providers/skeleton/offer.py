"""What the choices and offers of all clouds share: a machine's needs, words and warnings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from diskbench.catalog.books import Books
from diskbench.catalog.cost import address_part, disk_part, machine_part, snapshot_part, sum_usd
from diskbench.catalog.lookup import DiskLimits, promise
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, PricePart, Rental, Scope

OF_FILL = ", from a snapshot of a filled one"


def disk_words(
    disk: str,
    count: int,
    is_striped: bool,
    iops: int | None,
    throughput: float | None,
    unit: str = "MiB/s",
) -> str:
    """`disk` with its count, whether it is striped, and its provisioned IOPS and throughput."""
    words = f"{count} × {disk}" if count > 1 else disk
    words += ", striped" if count > 1 and is_striped else ""
    if iops:
        words += f", {iops:,} IOPS"
    if throughput:
        words += f", {throughput:g} {unit}"
    return words


def place_words(zones: Sequence[str]) -> str:
    """The first zone, and those to try after it."""
    first, *others = zones
    return f"{first} (else {', '.join(others)})" if others else first


def open_warnings(spec: RentSpec, *, spot: str) -> Iterator[str]:
    """Warnings about the user's own choices: a machine that the cloud may take away (`spot`
    completes the sentence), and SSH from everywhere."""
    if spec.spot:
        yield f"the cloud may end a spot machine at any time{spot}"
    if spec.ssh_cidr is not None and spec.ssh_cidr.endswith("/0"):
        yield f"SSH is open to all addresses ({spec.ssh_cidr}); only the lease's key gets in"


class Requested(Protocol):
    """A cloud's disk request."""

    @property
    def kind(self) -> str:
        """`root` where the machine's root disk is measured."""
        ...

    def limits(self, size_gib: int) -> DiskLimits | None: ...
    def spec(self, size_gib: int) -> DiskSpec: ...


def offered(
    books: Books,
    spec: RentSpec,
    scope: Scope,
    requested: Requested,
    size_gib: int,
    machine: str | None,
    *,
    region: str | None,
    root: DiskSpec | PricePart,
    own: bool,
    public: bool,
    root_words: str = "root disk",
    tier: str | None = None,
    more: Iterable[PricePart] = (),
    **known: Any,  # noqa: ANN401 - fields of Rental
) -> Rental:
    """The priced rental of disks of that size at a machine of that name, with what is `known` of
    it. `root` is the machine's root disk; `own`: the measured disk comes with the machine, which
    includes its price. After machine, root disk and measured disk, its snapshot and `more` are
    priced, and a public address."""
    limits, disk = requested.limits(size_gib), requested.spec(size_gib)
    cloud, where, is_root = scope.provider, region or "", requested.kind == "root"
    prices = [machine_part(books, cloud, machine or "", where)]
    if not is_root:
        if isinstance(root, DiskSpec):
            root = disk_part(books, cloud, root, where, what=root_words)
        prices.append(root)
    if not own:
        what = root_words if is_root else "disk"
        prices.append(disk_part(books, cloud, disk, where, what=what, tier=tier))
        if spec.snapshot_of_fill:
            prices.append(snapshot_part(cloud, disk.size_gib, where))
    prices += more
    if public:
        prices.append(address_part(books, cloud, where))
    return Rental(
        scope=scope,
        spec=spec,
        promise=promise(limits, spec.time_scale) if limits else "",
        instance_type=machine,
        disk=disk,
        hourly_usd=sum_usd(prices),
        prices=tuple(prices),
        **known,
    )


MARGIN = 1.2
"""Headroom above the disk's ceiling, so that the disk and not the machine is the limit."""
MIN_VCPUS = 2
"""One CPU for fio and one for everything else; our choice."""
BOTTLENECK = "the VM, not the disk, would be the bottleneck"


@dataclass(frozen=True)
class Needs:
    """The IOPS and MB/s (10^6 bytes per second) that the machine must sustain."""

    iops: float
    mb_per_s: float


def needs(limits: DiskLimits | None, count: int = 1) -> Needs:
    """MARGIN times the ceiling of `count` disks together; zero for disks without limits.

    Separate limits of reads and writes add up, as both can be used at the same time.
    """
    pools = limits.pools if limits else ()
    iops = sum(pool.iops.ceiling for pool in pools if pool.iops)
    bytes_per_s = sum(pool.bytes_per_s.ceiling for pool in pools if pool.bytes_per_s)
    return Needs(MARGIN * count * iops, MARGIN * count * bytes_per_s / 1e6)
