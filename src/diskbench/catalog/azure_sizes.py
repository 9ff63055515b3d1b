"""Azure's machine sizes as load generators: what they sustain towards their disks, and prices.

A size has two limits: one for disks without a host cache, one that cached disks and the temporary
disk share. What a size bursts to lasts half an hour; only the baseline can be leaned on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from diskbench.catalog.book import parse_book
from diskbench.catalog.entry import Figure, Source
from diskbench.catalog.instances import Month
from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


class SizeEntry(Figure):
    """One size. `iops` and `mb_per_s` (10^6 bytes) are the uncached baseline; `cached_…` are None
    where no figure is published. `cacheable` is False where the document says that there is no
    host cache. `usd_per_hour` is pay as you go in the file's region."""

    vcpus: int
    memory_gib: float
    current: bool = True
    burstable: bool = False
    premium: bool = True
    cacheable: bool = True
    interface: Literal["scsi", "nvme"] = "scsi"
    iops: float
    mb_per_s: float
    burst_iops: float | None = None
    burst_mb_per_s: float | None = None
    cached_iops: float | None = None
    cached_mb_per_s: float | None = None
    cache_gib: float | None = None
    max_disks: int
    temp_gib: int = 0
    usd_per_hour: float | None = None
    price_source: str | None = None


class DiskPrice(Figure):
    """US dollars a month: of each tier, or of a GiB, an IOPS and a MB/s."""

    tiers: dict[str, float] = Field(default_factory=dict)
    per_gib: float = 0.0
    per_iops: float = 0.0
    per_mb_per_s: float = 0.0


class SizeCatalogue(Frozen):
    """The file of sizes and prices; prices are those of `region`."""

    format: Literal[1]
    cloud: Literal["azure"]
    region: str
    sources: dict[str, Source]
    month_hours: Month
    disks: dict[str, DiskPrice]
    sizes: dict[str, SizeEntry] = Field(min_length=1)

    @model_validator(mode="after")
    def _every_source_is_listed(self) -> SizeCatalogue:
        named = {entry.source for entry in (*self.disks.values(), self.month_hours)}
        for entry in self.sizes.values():
            named |= {entry.source, entry.price_source or entry.source}
        missing = named - set(self.sources)
        if missing:
            raise ValueError(f"not in the list of sources: {', '.join(sorted(missing))}")
        return self

    def size_hourly_usd(self, size: str, region: str) -> float | None:
        """The price of a machine; None where it is not known."""
        entry = self.sizes.get(size)
        return entry.usd_per_hour if entry is not None and region == self.region else None

    def disk_hourly_usd(
        self,
        disk_type: str,
        tier: str | None,
        size_gib: int,
        region: str,
        *,
        iops: float | None = None,
        mb_per_s: float | None = None,
    ) -> float | None:
        """The price of one disk, by its tier or by what is provisioned, without transactions; None
        where it is not known."""
        price = self.disks.get(disk_type)
        if price is None or region != self.region:
            return None
        if price.tiers:
            month = price.tiers.get(tier or "")
            return None if month is None else month / self.month_hours.value
        month = price.per_gib * size_gib
        month += price.per_iops * (iops or 0.0) + price.per_mb_per_s * (mb_per_s or 0.0)
        return month / self.month_hours.value


def parse_sizes(text: str, *, where: str, patch: Mapping[str, Any] | None = None) -> SizeCatalogue:
    """A catalogue of sizes from YAML with `patch` laid over it. Raises InvalidValue naming `where`
    and every fault."""
    return parse_book(SizeCatalogue, text, where=where, wanted="catalogue of sizes", patch=patch)
