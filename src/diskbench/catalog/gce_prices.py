"""What Google Cloud's machines and disks cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import model_validator

from diskbench.catalog.book import parse_book
from diskbench.catalog.entry import Figure, Source
from diskbench.catalog.instances import Month, VolumePrice
from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


class MachinePrices(Figure):
    """US dollars an hour of each machine type, on demand, with the local disks that it has."""

    usd_per_hour: dict[str, float]


class PriceBook(Frozen):
    """The file of prices; they are those of `region`."""

    format: Literal[1]
    cloud: Literal["gcp"]
    region: str
    sources: dict[str, Source]
    month_hours: Month
    disks: dict[str, VolumePrice]
    machines: MachinePrices
    refreshed: MachinePrices | None = None
    """Prices of machines that were asked for anew; those of `machines` stand where it has none."""

    @model_validator(mode="after")
    def _every_source_is_listed(self) -> PriceBook:
        named = {f.source for f in (*self.disks.values(), self.month_hours, self.machines)}
        named |= {self.refreshed.source} if self.refreshed else set()
        missing = named - set(self.sources)
        if missing:
            raise ValueError(f"not in the list of sources: {', '.join(sorted(missing))}")
        return self

    def machine_hourly_usd(self, machine_type: str, region: str) -> float | None:
        """The price of a machine; None where it is not known."""
        priced = self.priced(machine_type)
        return priced[0] if priced and region == self.region else None

    def priced(self, machine_type: str) -> tuple[float, str] | None:
        """The price of a machine, and the key of its source."""
        for prices in (self.refreshed, self.machines):
            if prices is not None and machine_type in prices.usd_per_hour:
                return prices.usd_per_hour[machine_type], prices.source
        return None

    def machine_types(self) -> tuple[str, ...]:
        """Every machine that has a price, sorted."""
        refreshed = self.refreshed.usd_per_hour if self.refreshed else {}
        return tuple(sorted({*self.machines.usd_per_hour, *refreshed}))

    def disk_hourly_usd(
        self,
        disk_type: str,
        size_gib: float,
        region: str,
        *,
        iops: float | None = None,
        mib_per_s: float | None = None,
    ) -> float | None:
        """The price of one disk, IOPS and throughput as provisioned; None where it is not known."""
        price = self.disks.get(disk_type)
        if price is None or region != self.region:
            return None
        return price.month_usd(size_gib, iops or 0.0, mib_per_s or 0.0) / self.month_hours.value


def parse_prices(text: str, *, where: str, patch: Mapping[str, Any] | None = None) -> PriceBook:
    """Prices from YAML with `patch` laid over them. Raises InvalidValue naming `where` and every
    fault."""
    return parse_book(PriceBook, text, where=where, wanted="list of prices", patch=patch)
