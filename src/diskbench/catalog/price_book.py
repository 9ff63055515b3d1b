"""The form of `prices.yaml`: what a provider's disks and machines cost in one region.

month of a disk   per_gib × GiB + Σ over steps  usd × IOPS in the step above what is free
                  + per_mib_per_s (or per_mb_per_s) × throughput above what is free
                  or, for a type that is sold in tiers, the price of the disk's tier
hour of a disk    month / month_hours
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from diskbench.catalog import sourced_figures
from diskbench.catalog.yaml_loader import PRICES, shipped_book
from diskbench.model.base import Frozen


class IopsPrice(Frozen):
    """US dollars a month for each IOPS up to `up_to`; the last step has no end."""

    up_to: int | None = None
    usd: float


class PricedDisk(sourced_figures.SourcedFigure):
    """What a disk costs a month, in US dollars: its tier, or its parts; a `free_…` part comes with
    its size. Throughput is priced in the unit in which it is sold."""

    tiers: dict[str, float] = Field(default_factory=dict)
    per_gib: float = 0.0
    per_iops: tuple[IopsPrice, ...] = ()
    free_iops: int = 0
    per_mib_per_s: float = 0.0
    free_mib_per_s: float = 0.0
    per_mb_per_s: float = 0.0
    free_mb_per_s: float = 0.0

    def month_usd(
        self, size_gib: float, iops: float, throughput: float, tier: str | None = None
    ) -> float | None:
        """Return the monthly price of one disk in USD; `iops` and `throughput` are the provisioned
        figures or 0. None for a tier without a price."""
        if self.tiers:
            return self.tiers.get(tier or "")
        total, paid = self.per_gib * size_gib, float(self.free_iops)
        for step in self.per_iops:
            end = iops if step.up_to is None else min(iops, step.up_to)
            total += step.usd * max(0.0, end - paid)
            paid = max(paid, end)
        total += self.per_mib_per_s * max(0.0, throughput - self.free_mib_per_s)
        return total + self.per_mb_per_s * max(0.0, throughput - self.free_mb_per_s)

    def is_in(self, prices: Mapping[str, Any]) -> bool:
        """Whether `prices`, in the form of this entry, have every price that it has."""
        parts = self.model_dump(include=set(_PRICES), exclude_defaults=True)
        tiers = prices.get("tiers") or {}
        return parts.keys() <= prices.keys() and self.tiers.keys() <= tiers.keys()


_PRICES = frozenset({"tiers", "per_gib", "per_iops", "per_mib_per_s", "per_mb_per_s"})


class RegionPrices(Frozen):
    """What is known of the prices of another region, in the form of the file."""

    disks: dict[str, PricedDisk] = Field(default_factory=dict)
    machines: dict[str, dict[str, float]] = Field(default_factory=dict)


class PriceBook(sourced_figures.ProviderFile):
    """The file; its prices are those of `region`, and `regions` holds those of others.
    `month_hours` are the hours that a monthly price covers, `address` is a public one in use.
    `machines` are US dollars an hour on demand, by the key of their source; the last source that
    has a machine counts, so that what is refreshed goes before what was shipped."""

    file = PRICES
    kind = "list of prices"

    region: str
    month_hours: sourced_figures.SourcedNumber | None = None
    disks: dict[str, PricedDisk] = Field(default_factory=dict)
    machines: dict[str, dict[str, float]] = Field(default_factory=dict)
    address: sourced_figures.HourlyPrice | None = None
    regions: dict[str, RegionPrices] = Field(default_factory=dict)

    def named_sources(self) -> dict[str, str]:
        """Return the sources, those of the machines too."""
        books = (self.machines, *(prices.machines for prices in self.regions.values()))
        keys = {key for machines in books for key in machines}
        return super().named_sources() | {f"machines of {key}": key for key in keys}

    @model_validator(mode="after")
    def _month_is_known(self) -> PriceBook:
        if self.month_hours is None and self.disks:
            raise ValueError("prices of a month need `month_hours`, the hours of one")
        return self

    def machine_price(self, machine_type: str) -> tuple[float, str] | None:
        """Return the hourly price of a machine and the key of its source; None if unknown."""
        for key in reversed(self.machines):
            if machine_type in self.machines[key]:
                return self.machines[key][machine_type], key
        return None

    def of_region(self, region: str, patch: Mapping[str, Any] | None = None) -> PriceBook:
        """The prices of another region: those shipped of it and, where this is the shipped file
        with a patch of that region, those that `patch` names. A disk counts only with all its
        prices: none of the shipped region is taken for another's."""
        shipped = self.regions.get(region, RegionPrices())
        patched = (patch or {}).get("disks", {})
        own = self.disks
        disks = {name: own[name] for name in patched if own[name].is_in(patched[name])}
        machines = {key: self.machines[key] for key in (patch or {}).get("machines", {})}
        known = {"machines": shipped.machines | machines, "disks": shipped.disks | disks}
        return self.model_copy(update={"region": region, **known})

    def machine_hourly_usd(self, machine_type: str, region: str | None = None) -> float | None:
        """The price of a machine an hour in a region, this file's unless given; None where none is
        known."""
        priced = self.machine_price(machine_type) if region in (None, self.region) else None
        return priced[0] if priced else None

    def disk_hourly_usd(
        self,
        disk_type: str,
        size_gib: float,
        region: str,
        *,
        iops: float | None = None,
        throughput: float | None = None,
        tier: str | None = None,
    ) -> float | None:
        """The price of one disk an hour, by its tier or by what is provisioned, without
        transactions; None where none is known."""
        price = self.disks.get(disk_type)
        if price is None or self.month_hours is None or region != self.region:
            return None
        month = price.month_usd(size_gib, iops or 0.0, throughput or 0.0, tier)
        return None if month is None else month / self.month_hours.value


def price_book(cloud: str) -> PriceBook:
    """The shipped prices of a provider; an empty book where it lists none. Raises InvalidValue for
    a file that breaks the rules."""
    book = shipped_book(PriceBook, cloud)
    return book if book is not None else PriceBook(format=1, cloud=cloud, region="", sources={})
