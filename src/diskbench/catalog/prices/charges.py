"""The form of `charges.yaml`: what a provider charges besides hourly prices: disk transactions,
public addresses, and a minimum billed time.

Requests become transactions by

    units(request) = ceil(request / unit), at most `most_units`; 1 where there is no unit
    transactions   = Σ requests × units(request), at most `hourly_cap` × hours begun × disks

and cost `usd` for each `per` of them; a bill may round up to whole multiples of `per`.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from diskbench.catalog.limits.sourced_figures import FigureSource, SourcedFigure
from diskbench.catalog.yaml_loader import CHARGES, check_sources, parse_book, shipped_book
from diskbench.model.base import Frozen
from diskbench.units import KIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HOUR_S = 3600


class Work(Frozen):
    """Requests during a period of time; `request_bytes` is their mean size."""

    requests: float = Field(ge=0)
    request_bytes: float = Field(ge=0)
    seconds: float = Field(ge=0)


class Counting(SourcedFigure):
    """How requests become transactions. `unit_kib` None: each request is one, of any size."""

    unit_kib: int | None = None
    most_units: int | None = None
    hourly_cap: int | None = None

    def units(self, request_bytes: float) -> int:
        """Return how many transactions one request is."""
        if self.unit_kib is None:
            return 1
        units = max(1, math.ceil(request_bytes / (self.unit_kib * KIB)))
        return units if self.most_units is None else min(units, self.most_units)

    def count(self, work: Iterable[Work], *, disks: int = 1) -> float:
        """Return the billed transactions for work on `disks` equal disks, one after another."""
        done = list(work)
        transactions = sum(part.requests * self.units(part.request_bytes) for part in done)
        if self.hourly_cap is None:
            return transactions
        hours = math.ceil(sum(part.seconds for part in done) / _HOUR_S)
        return min(transactions, float(self.hourly_cap * max(hours, 1) * disks))


class Transactions(SourcedFigure):
    """The charge of a disk type: `usd` for each `per` transactions; `tiers` have their own
    counting rules."""

    usd: float
    per: int = Field(ge=1)
    counting: Counting | None = None
    tiers: dict[str, Counting] = Field(default_factory=dict)

    def counted_as(self, tier: str | None) -> Counting:
        """Return the counting rule of a disk of a tier."""
        return self.tiers.get(tier or "") or self.counting or Counting(source=self.source)

    def cost_usd(self, transactions: float) -> float:
        """Return the cost of `transactions` in USD."""
        return transactions / self.per * self.usd


class AddressPrice(SourcedFigure):
    """The hourly price of a public address while a machine uses it."""

    usd_per_hour: float


class Minimum(SourcedFigure):
    """The minimum billed time in seconds."""

    value: float


class Charges(Frozen):
    """One provider's file; prices are those of `region`."""

    format: Literal[1]
    cloud: str
    region: str
    sources: dict[str, FigureSource]
    address: AddressPrice | None = None
    machine_minimum: Minimum | None = None
    disk_minimum: Minimum | None = None
    transactions: dict[str, Transactions] = Field(default_factory=dict)

    def figures(self) -> Iterator[SourcedFigure]:
        """Yield every item that holds a figure."""
        yield from (f for f in (self.address, self.machine_minimum, self.disk_minimum) if f)
        for figure in self.transactions.values():
            yield from (
                figure,
                *([figure.counting] if figure.counting else []),
                *figure.tiers.values(),
            )

    @model_validator(mode="after")
    def _every_source_is_listed(self) -> Charges:
        check_sources({figure.source: figure.source for figure in self.figures()}, self.sources)
        return self


@functools.cache
def charges_of(cloud: str) -> Charges | None:
    """Return the shipped charges of a provider; None if it lists none."""
    return shipped_book(cloud, CHARGES, parse_charges)


def parse_charges(text: str, *, where: str) -> Charges:
    """Parse charges from YAML. Raises InvalidValue naming `where` and every fault."""
    return parse_book(Charges, text, where=where, kind="list of charges")
