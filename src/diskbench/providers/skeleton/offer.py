"""What the choices and offers of all clouds share: a machine's needs, words and warnings. Pure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import ConfigDict

from diskbench.catalog.books import Books
from diskbench.catalog.cost import address_part, disk_part, machine_part, snapshot_part, sum_usd
from diskbench.catalog.lookup import DiskLimits, promise
from diskbench.catalog.shipped import catalogue
from diskbench.catalog.sourced_figures import Quantity
from diskbench.model.base import Frozen
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, PricePart, Rental, Scope
from diskbench.providers.error_table import refused

OF_FILL = ", from a snapshot of a filled one"


def place_words(zones: Sequence[str]) -> str:
    """The first zone, and those to try after it."""
    first, *others = zones
    return f"{first} (else {', '.join(others)})" if others else first


def offer_words(
    spec: RentSpec,
    requested: SizedDisk,
    size_gib: int,
    *,
    machine: str,
    where: str,
    image: str,
    own: str | None,
    more: str,
    root: str = "root disk",
    unit: str = "MiB/s",
) -> str:
    """The offer in words: machine, place, disks with `more` about them, image. `own` is what a disk
    that comes with its machine is called, `root` the root disk, `unit` that of the throughput."""
    disk = requested.spec(size_gib)
    words = own or (f"its {root}, " if requested.kind == "root" else "") + disk.type
    words += f" of {size_gib:,} GiB"
    if disk.count > 1:
        words = f"{disk.count} × {words}{', striped' if spec.stripe else ''}"
    if disk.iops:
        words += f", {disk.iops:,} IOPS"
    if disk.throughput_mib_per_s:
        words += f", {disk.throughput_mib_per_s:g} {unit}"
    spot = "spot " if spec.spot else ""
    return f"{spot}{machine} in {where} with {words}{more}; {image}"


def provisioned(cloud: str, disk: DiskSpec) -> tuple[float | None, float | None]:
    """The provisioned IOPS and throughput of a disk: as requested, or the type's default; None
    where they follow from its size."""
    entry = catalogue(cloud).disks[disk.type]

    def of(requested: float | None, quantity: Quantity | None) -> float | None:
        if requested is not None or quantity is None or not quantity.provisioned:
            return requested
        return quantity.default_value(disk.size_gib)

    return of(disk.iops, entry.iops), of(disk.throughput_mib_per_s, entry.throughput)


def open_warnings(spec: RentSpec, *, spot: str) -> Iterator[str]:
    """Warnings about the user's own choices: a machine that the cloud may take away (`spot`
    completes the sentence), and SSH from everywhere."""
    if spec.spot:
        yield f"the cloud may end a spot machine at any time{spot}"
    if spec.ssh_cidr is not None and spec.ssh_cidr.endswith("/0"):
        yield f"SSH is open to all addresses ({spec.ssh_cidr}); only the lease's key gets in"


def checked_size(
    requested: SizedDisk, image: str, image_gib: int, root: str = "a root disk"
) -> int:
    """The size of the disk; for a root disk the image's unless one is given. Raises InvalidValue
    where that is smaller than the image."""
    size = requested.size_gib or image_gib
    if requested.kind == "root" and size < image_gib:
        raise refused(
            "root disk smaller than its image", root=root, size=size, image=image, least=image_gib
        )
    return size


class RentalDetails(Frozen):
    """What `acquire` needs beside the spec. A field may be stored under another name, its alias,
    so that plans which earlier versions stored can be read."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    ssh_cidr: str | None = None
    """The network from which SSH is admitted; None where the user's own rules decide."""
    emulated: bool


class SizedDisk(Frozen):
    """The requested disk of a cloud that sells disks by type, size, IOPS and throughput. `size_gib`
    is None where the user chooses no size; `type` is the disk's type, of a root disk too. `kind` is
    `root` where the machine's root disk is measured."""

    kind: str
    type: str
    size_gib: int | None = None
    iops: int | None = None
    throughput_mib_per_s: float | None = None
    count: int = 1

    @abstractmethod
    def limits(self, size_gib: int) -> DiskLimits | None:
        """The catalogue's limits of one disk of that size; None where it has none."""

    def spec(self, size_gib: int) -> DiskSpec:
        """The disk of that size as the plan shows it."""
        return DiskSpec(
            type=self.type,
            size_gib=size_gib,
            iops=self.iops,
            throughput_mib_per_s=self.throughput_mib_per_s,
            count=self.count,
        )


def offered(
    books: Books,
    spec: RentSpec,
    scope: Scope,
    requested: SizedDisk,
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


Needs = tuple[float, float]
"""The IOPS and MB/s (10^6 bytes per second) that the machine must sustain."""


def needs(limits: DiskLimits | None, count: int = 1) -> Needs:
    """MARGIN times the ceiling of `count` disks together; zero for disks without limits.

    Separate limits of reads and writes add up, as both can be used at the same time.
    """
    pools = limits.pools if limits else ()
    iops = sum(pool.iops.ceiling for pool in pools if pool.iops)
    bytes_per_s = sum(pool.bytes_per_s.ceiling for pool in pools if pool.bytes_per_s)
    return MARGIN * count * iops, MARGIN * count * bytes_per_s / 1e6
