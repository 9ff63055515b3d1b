"""Machines as load generators: what a type sustains towards its disks, and what things cost.

A machine has a cap of its own on the path to its network disks. The maximum holds for half an hour
a day on burstable sizes; only the *baseline* lasts, and a measurement that needs more than that
measures the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from diskbench.catalog.book import parse_book
from diskbench.catalog.entry import Figure, Source
from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


class LocalSpeed(Figure):
    """The IOPS of 4 KiB that all disks of a machine reach together."""

    read_iops: float
    write_iops: float


class LocalDisks(Frozen):
    """The equal disks that come with a machine; `size_gb` is 10^9 bytes, as the cloud says it.
    `speed` is None where no figure is published that we know of."""

    count: int
    size_gb: int
    nvme: bool = True
    speed: LocalSpeed | None = None


class InstanceEntry(Figure):
    """One machine type. IOPS at 16 KiB, MB/s are 10^6 bytes/s at 128 KiB; None where no figure is
    published. `max_disks` counts network disks with the root disk, and with interfaces and local
    disks too unless `disks_apart`. `usd_per_hour` is on demand in the file's region.
    """

    vcpus: int
    memory_gib: float
    arch: Literal["x86_64", "arm64"]
    current: bool = True
    burstable: bool = False
    hypervisor: Literal["nitro", "xen"] = "nitro"
    ebs_optimized: Literal["default", "supported", "unsupported"] = "default"
    baseline_iops: float | None = None
    baseline_mb_per_s: float | None = None
    max_iops: float | None = None
    max_mb_per_s: float | None = None
    max_disks: int
    disks_apart: bool = False
    local: LocalDisks | None = None
    usd_per_hour: float
    price_source: str


class IopsPrice(Frozen):
    """US dollars a month for each IOPS up to `up_to`; the last step has no end."""

    up_to: int | None = None
    usd: float


class VolumePrice(Figure):
    """What a disk costs a month, in US dollars; a `free_…` part comes with its size."""

    per_gib: float
    per_iops: tuple[IopsPrice, ...] = ()
    free_iops: int = 0
    per_mib_per_s: float = 0.0
    free_mib_per_s: float = 0.0

    def month_usd(self, size_gib: float, iops: float, mib_per_s: float) -> float:
        """A month of one disk; `iops` and `mib_per_s` are what is provisioned, 0 where nothing."""
        total, paid = self.per_gib * size_gib, float(self.free_iops)
        for step in self.per_iops:
            end = iops if step.up_to is None else min(iops, step.up_to)
            total += step.usd * max(0.0, end - paid)
            paid = max(paid, end)
        return total + self.per_mib_per_s * max(0.0, mib_per_s - self.free_mib_per_s)


class Month(Figure):
    """How many hours a month's price is for."""

    value: float


class EbsBurst(Figure):
    """How long the maximum is guaranteed, and how often, on types whose baseline is lower."""

    duration_s: float
    every_s: float


class InstanceCatalogue(Frozen):
    """One cloud's file of machines and prices; prices are those of `region`."""

    format: Literal[1]
    cloud: str
    region: str
    sources: dict[str, Source]
    month_hours: Month
    ebs_burst: EbsBurst
    volumes: dict[str, VolumePrice]
    instances: dict[str, InstanceEntry] = Field(min_length=1)

    @model_validator(mode="after")
    def _every_source_is_listed(self) -> InstanceCatalogue:
        figures: dict[str, Figure] = {**self.volumes, **self.instances}
        for name, figure in {**figures, "month": self.month_hours, "burst": self.ebs_burst}.items():
            named = [figure.source]
            if isinstance(figure, InstanceEntry):
                named.append(figure.price_source)
                if figure.local is not None and figure.local.speed is not None:
                    named.append(figure.local.speed.source)
            for key in named:
                if key not in self.sources:
                    raise ValueError(f"{name}: the source {key!r} is not in the list of sources")
        return self

    def instance_hourly_usd(self, instance_type: str, region: str) -> float | None:
        """The price of a machine; None where it is not known."""
        entry = self.instances.get(instance_type)
        return entry.usd_per_hour if entry is not None and region == self.region else None

    def volume_hourly_usd(
        self,
        disk_type: str,
        size_gib: float,
        region: str,
        *,
        iops: float | None = None,
        mib_per_s: float | None = None,
    ) -> float | None:
        """The price of one disk, IOPS and throughput as provisioned; None where it is not known."""
        price = self.volumes.get(disk_type)
        if price is None or region != self.region:
            return None
        return price.month_usd(size_gib, iops or 0.0, mib_per_s or 0.0) / self.month_hours.value


def parse_instances(
    text: str, *, where: str, patch: Mapping[str, Any] | None = None
) -> InstanceCatalogue:
    """A catalogue of machines from YAML with `patch` laid over it. Raises InvalidValue naming
    `where` and every fault."""
    return parse_book(
        InstanceCatalogue, text, where=where, wanted="catalogue of machines", patch=patch
    )
