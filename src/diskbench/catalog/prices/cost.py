"""The cost of a trial, before and after it runs, and the monthly cost of a disk.

    total = Σ hourly_usd × seconds / 3600 + fixed_usd + transactions_usd
    fixed_usd = Σ hourly_usd × max(0, minimum_s - seconds) / 3600

over the parts of a rental: machine, root disk, disks, public address. `fixed_usd` is what the
minimum billed time adds (an hour, for a disk that is billed by the hour). Transactions are counted
by catalog/prices/transactions.py. I/O of the operating system on a root disk and network traffic
are not counted.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from diskbench.catalog.prices.charges import Work
from diskbench.catalog.prices.hourly import disk_hourly_usd, sum_usd
from diskbench.catalog.prices.transactions import charge_of, done_work
from diskbench.model.base import Frozen
from diskbench.model.rental import PricePart
from diskbench.model.spec import EMULATED_PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from diskbench.catalog.books import Books
    from diskbench.model.rental import DiskSpec, Rental
    from diskbench.model.result import Measurement

HOUR_S = 3600
MONTH_HOURS = 730.0
"""A month of 365 days / 12: the month that infracost's golden files price (2024-07-01)."""


class CellCost(Frozen):
    """What one trial costs, in US dollars.

    `hourly_usd` and `total_usd` are None unless every price is known; `unknown` names the parts
    whose price is not, and `known_usd` is the sum of what is. `fixed_usd` is what the least billed
    time adds, `transactions_usd` what so many `transactions` cost. `source` is where prices stand.
    """

    seconds: float
    hourly_usd: float | None
    fixed_usd: float = 0.0
    transactions: float = 0.0
    transactions_usd: float = 0.0
    known_usd: float = 0.0
    total_usd: float | None
    unknown: tuple[str, ...] = ()
    source: str = ""

    def total_or(self, assume_price_usd_per_hour: float | None) -> float | None:
        """The total; with an unknown price what so many dollars an hour make, but never less than
        what is known. None where nothing is assumed either."""
        if not self.unknown or assume_price_usd_per_hour is None:
            return self.total_usd
        return max(self.known_usd, assume_price_usd_per_hour * self.seconds / HOUR_S)


class TrialCost(CellCost):
    """The cost of a trial so far, or in total once it `ended`; an `emulated` trial cost nothing,
    and this is the cost of a real one."""

    trial_id: str
    emulated: bool
    ended: bool


class MonthCost(Frozen):
    """The monthly cost of one disk; None where a price is not known."""

    storage_usd: float | None
    transactions: float
    transactions_usd: float | None

    @property
    def total_usd(self) -> float | None:
        """The sum of storage and transactions; None if either is unknown."""
        if self.storage_usd is None or self.transactions_usd is None:
            return None
        return self.storage_usd + self.transactions_usd


class LeaseLike(Protocol):
    """The attributes of a lease (store.leases.Lease) that are used here. Times are UTC, ISO 8601;
    `released_at` is None while it is open, `hourly_usd` is None if no price is known."""

    @property
    def lease_id(self) -> str: ...  # noqa: D102 - see above

    @property
    def hourly_usd(self) -> float | None: ...  # noqa: D102

    @property
    def created_at(self) -> str: ...  # noqa: D102

    @property
    def released_at(self) -> str | None: ...  # noqa: D102


def cost_of(rental: Rental | None, seconds: float, work: Sequence[Work] = ()) -> CellCost:
    """Return the cost of a rental for `seconds` and the `work` on its disks; 0 without a rental, in
    the lab, and in the fake cloud."""
    if rental is None or rental.scope.provider in EMULATED_PROVIDERS:
        return CellCost(seconds=seconds, hourly_usd=0.0, total_usd=0.0)
    parts = rental.prices or (PricePart(name="machine and disks", hourly_usd=rental.hourly_usd),)
    known = [(part.hourly_usd, part.minimum_s) for part in parts if part.hourly_usd is not None]
    by_the_hour = sum(usd for usd, _ in known) * seconds / HOUR_S
    fixed = sum(usd * max(0.0, least - seconds) for usd, least in known) / HOUR_S
    unknown = [part.name for part in parts if part.hourly_usd is None]
    sources = [part.source for part in parts]
    transactions, usd = 0.0, 0.0
    disk, scope = rental.disk, rental.scope
    charge = charge_of(rental.catalogue, disk, scope.region) if disk else None
    if disk is not None and charge is not None:
        transactions = charge.counting.count(work, disks=disk.count)
        sources.append(charge.source)
        if charge.price is None:
            unknown.append(f"transactions of {disk.type}")
        else:
            usd = charge.price.cost_usd(transactions)
    total = by_the_hour + fixed + usd
    return CellCost(
        seconds=seconds,
        hourly_usd=sum_usd(parts),
        fixed_usd=fixed,
        transactions=transactions,
        transactions_usd=usd,
        known_usd=total,
        total_usd=None if unknown else total,
        unknown=tuple(unknown),
        source="; ".join(dict.fromkeys(source for source in sources if source)),
    )


def cost_of_lease(
    lease: LeaseLike, rows: Iterable[Measurement], rental: Rental | None, *, now: datetime
) -> CellCost:
    """Return the cost of a lease until its release or `now`, with the transactions of its runs.

    `rows` are the measurements of its runs. Without `rental` only the hourly price is known.
    """
    seconds = age_s(lease, now)
    if rental is not None:
        return cost_of(rental, seconds, done_work(rows))
    usd = None if lease.hourly_usd is None else lease.hourly_usd * seconds / HOUR_S
    return CellCost(
        seconds=seconds,
        hourly_usd=lease.hourly_usd,
        known_usd=usd or 0.0,
        total_usd=usd,
        unknown=() if usd is not None else ("machine and disks",),
    )


def spent_usd(
    leases: Iterable[LeaseLike],
    now: datetime,
    *,
    transactions_usd: Mapping[str, float] | None = None,
    assume_price_usd_per_hour: float | None = None,
) -> float:
    """Return the cost of open and released leases so far in USD: hourly price × age, plus
    `transactions_usd` by lease id. A lease without a price counts with the assumed price, else with
    0."""
    done, total = transactions_usd or {}, 0.0
    for lease in leases:
        hourly = lease.hourly_usd
        if hourly is None:
            hourly = assume_price_usd_per_hour or 0.0
        total += hourly * age_s(lease, now) / HOUR_S + done.get(lease.lease_id, 0.0)
    return total


def age_s(lease: LeaseLike, now: datetime) -> float:
    """Return how long a lease has been billed in seconds; never negative."""
    end = datetime.fromisoformat(lease.released_at) if lease.released_at else now
    return max(0.0, (end - datetime.fromisoformat(lease.created_at)).total_seconds())


def monthly(
    books: Books,
    cloud: str,
    disk: DiskSpec,
    region: str,
    work: Sequence[Work],
    *,
    hours: float = MONTH_HOURS,
    tier: str | None = None,
) -> MonthCost:
    """Return the cost of one disk for a month of `hours` with the `work` done in it. `tier` is a
    performance tier that is paid for instead of the size's own tier.

    At full load: `monthly(books, …, [expected_work(cloud, disk, [4096], hours * 3600)])`.
    """
    hourly = disk_hourly_usd(books, cloud, disk, region, tier=tier)
    charge = charge_of(cloud, disk, region)
    count = charge.counting.count(work) if charge else 0.0
    if charge is None:
        usd: float | None = 0.0
    else:
        usd = charge.price.cost_usd(count) if charge.price else None
    return MonthCost(
        storage_usd=None if hourly is None else hourly * hours,
        transactions=count,
        transactions_usd=usd,
    )
