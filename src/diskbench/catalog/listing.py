"""The catalogue as a readable listing: every disk type and machine, and each figure's source."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import Field

from diskbench.catalog.books import Books
from diskbench.catalog.machine_book import MachineBook, MachineEntry
from diskbench.catalog.prices import Charges, PriceBook
from diskbench.catalog.shipped import (
    DiskEntry,
    Part,
    catalogue,
    catalogues,
    clouds,
    known_catalogue,
    shipped_book,
)
from diskbench.catalog.sourced_figures import FigureSource, SourcedFigure, Tiers
from diskbench.errors import InvalidValue
from diskbench.model.base import Frozen
from diskbench.plugin import working

T = TypeVar("T")

_NO_RULE = "any size counts as one I/O: no other rule is documented"
_ACCOUNTING = "what counts as one I/O of a limit or a promise"
ListingLine = tuple[str, str, str]
"""One line about an item: its name, figures or words, and their source."""


@dataclass(frozen=True)
class CatalogItem:
    """A disk type, a machine or another part, with everything that the catalogue states about it.
    `tiers` are the names of the lines that describe tiers."""

    cloud: str
    name: str
    kind: str
    title: str
    lines: tuple[ListingLine, ...]
    tiers: frozenset[str] = frozenset()

    def of_tier(self, tier: str) -> CatalogItem:
        """The disk type without the lines of its other tiers."""
        lines = tuple(line for line in self.lines if line[0] not in self.tiers - {tier})
        return replace(self, lines=lines)


class MachineRow(Frozen):
    """One machine: its lasting limits towards network disks, and its burst limits if higher.
    `cached_…` is the path of disks with a host cache. `caps` are limits that depend on the disk
    type. MB are 10^6 bytes; None where no figure is published."""

    cloud: str
    type: str
    vcpus: int | None
    memory_gib: float | None = None
    iops: float | None = None
    mb_per_s: float | None = None
    max_iops: float | None = None
    max_mb_per_s: float | None = None
    cached_iops: float | None = None
    cached_mb_per_s: float | None = None
    caps: dict[str, tuple[float, float, float, float]] = Field(default_factory=dict)
    """Disk type → read IOPS, write IOPS, read MiB/s, write MiB/s."""
    usd_per_hour: float | None = None
    source: str
    price_source: str = ""


def disk_entries() -> Iterator[tuple[str, str, DiskEntry]]:
    """Yield cloud, name and entry of every disk type."""
    for cloud in clouds():
        for name, entry in catalogue(cloud).disks.items():
            yield cloud, name, entry


def machine_rows(books: Books, cloud: str | None = None) -> Iterator[MachineRow]:
    """Yield every machine with a known limit or price, of all providers or of one."""
    for name, book in _read(cloud, books.of).items():
        for machine, entry in book.machines.types.items():
            yield _listed(name, machine, entry, book.machines, book.prices)
        yield from _of_series(name, book.machines, book.prices)


def _read(cloud: str | None, read: Callable[[str], T]) -> dict[str, T]:
    """What `read` returns for a provider, or for all whose catalogue can be read, by its name."""
    return working(catalogues(), read) if cloud is None else {cloud: read(cloud)}


def _listed(
    cloud: str, name: str, entry: MachineEntry, book: MachineBook, prices: PriceBook
) -> MachineRow:
    priced = prices.machine_price(name)
    same = ("vcpus", "memory_gib", "iops", "mb_per_s", "cached_iops", "cached_mb_per_s")
    return MachineRow(
        **{field: getattr(entry, field) for field in same},
        cloud=cloud,
        type=name,
        max_iops=entry.burst_iops,
        max_mb_per_s=entry.burst_mb_per_s,
        usd_per_hour=priced[0] if priced else None,
        source=book.sources[entry.source].words(),
        price_source=prices.sources[priced[1]].words() if priced else "",
    )


def _of_series(cloud: str, book: MachineBook, prices: PriceBook) -> Iterator[MachineRow]:
    priced = {name for of_source in prices.machines.values() for name in of_source}
    for name in sorted(priced - book.types.keys()):
        series, vcpus, price = book.series_of(name), book.vcpus_of(name), prices.machine_price(name)
        if series is None or price is None:
            continue
        caps, sources = {}, [series.source]
        for disk, fit in series.disks.items():
            if vcpus and (cap := fit.cap(vcpus)) is not None:
                rates = (cap.read_iops, cap.write_iops, cap.read_mib_per_s, cap.write_mib_per_s)
                caps[disk] = rates
                sources.append(fit.source)
        yield MachineRow(
            cloud=cloud,
            type=name,
            vcpus=vcpus,
            caps=caps,
            usd_per_hour=price[0],
            source="; ".join(book.sources[key].words() for key in dict.fromkeys(sources)),
            price_source=prices.sources[price[1]].words(),
        )


def find(books: Books, name: str) -> tuple[CatalogItem, ...]:
    """Return every item of a name, of all providers: a disk type, one of its tiers, a part of its
    title, a machine, another part. Raises InvalidValue with similar names."""
    items, tier = list(_things(books)), name.upper()
    disks = [item for item in items if item.kind == "disk type"]
    matches = (
        [item for item in items if item.name.lower() == name.lower()]
        or [item.of_tier(tier) for item in items if tier in item.tiers]
        or [item for item in disks if name.lower() in item.title.lower()]
    )
    if not matches:
        near = difflib.get_close_matches(name, sorted({item.name for item in items}), n=4)
        hint = f"did you mean {', '.join(near)}? " if near else ""
        raise InvalidValue(
            f"unknown disk type or machine {name!r}",
            advice=f"{hint}`diskbench catalog disks` and `instances` list the known ones",
        )
    return tuple(matches)


def _things(books: Books) -> Iterator[CatalogItem]:
    for cloud, name, entry in disk_entries():
        lines = [*_lines(entry, catalogue(cloud).sources), *_price_lines(books, cloud, name)]
        if entry.unknown:
            lines.insert(0, ("speed", entry.unknown, ""))
        tiers = frozenset(row.name for row in entry.tiers.rows) if entry.tiers else frozenset[str]()
        yield CatalogItem(cloud, name, "disk type", entry.title, tuple(lines), tiers)
    for row in machine_rows(books):
        yield CatalogItem(row.cloud, row.type, "machine", "", tuple(_machine_lines(books, row)))
    yield from parts()


def parts(cloud: str | None = None) -> Iterator[CatalogItem]:
    """Yield the items other than disk types and machines (kinds of datastores, controllers,
    settings), of all providers or of one."""
    for name, book in _read(cloud, known_catalogue).items():
        if book is None:
            continue
        for kind, of_kind in book.parts.items():
            for part_name, part in of_kind.items():
                lines = tuple(_part_lines(part, book.sources))
                yield CatalogItem(name, part_name, kind, part.title, lines)
        if (rule := book.accounting) is not None:
            line = ("", _set_fields(rule), book.sources[rule.source].words())
            yield CatalogItem(name, "accounting", "setting", _ACCOUNTING, (line,))


def _part_lines(part: Part, sources: Mapping[str, FigureSource]) -> Iterator[ListingLine]:
    """Yield the figures of a part, each with its source; its own first."""
    if part.source is not None:
        source = sources[part.source].words()
        if part.speed:
            yield "speed", part.speed, source
        if part.figures():
            yield "", _pairs(part.figures()), source
    for name, group in part.groups().items():
        figures = {key: value for key, value in group.items() if key != "source"}
        yield name, _pairs(figures), sources[group["source"]].words()


def _lines(entry: Frozen, sources: Mapping[str, FigureSource]) -> Iterator[ListingLine]:
    for name, value in entry:
        if isinstance(value, Tiers):
            for row in value.rows:
                yield row.name, _set_fields(row), sources[value.source].words()
        elif isinstance(value, SourcedFigure):
            yield name, _set_fields(value) or _NO_RULE, sources[value.source].words()


def _set_fields(figure: Frozen) -> str:
    """Return the fields that are set, without the source: `per_gib 3, min 100, max 16,000`."""
    return _pairs(figure.model_dump(exclude_defaults=True, exclude={"source", "title", "name"}))


def _pairs(figures: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {_value(value)}" for key, value in figures.items())


def _value(value: Any) -> str:  # noqa: ANN401 - whatever stands in a figure
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:,g}" if abs(value) < 1e6 else f"{value:,.0f}"
        case dict():
            return f"({_pairs({k: v for k, v in value.items() if v is not None})})"
        case list() | tuple():
            return "; ".join(map(_value, value))
    return str(value)


class PriceRow(Frozen):
    """What disks of a type cost a month in a region, in the catalogue's words; of machines, how
    many have a price an hour."""

    cloud: str
    region: str
    name: str
    price: str
    source: str


def price_rows(books: Books, cloud: str | None, region: str | None) -> Iterator[PriceRow]:
    """Yield the prices that are known, of all regions or of one."""
    for name, book in _read(cloud, books.of).items():
        for prices in (book.prices, *(book.regional[key] for key in sorted(book.regional))):
            if not prices.region or region not in (None, prices.region):
                continue
            for disk, price in prices.disks.items():
                source = prices.sources[price.source].words()
                row = {"name": disk, "price": _set_fields(price), "source": source}
                yield PriceRow(cloud=name, region=prices.region, **row)
            machines = {name for of_source in prices.machines.values() for name in of_source}
            if machines:
                source = "; ".join(prices.sources[key].words() for key in prices.machines)
                row = {"name": "machines", "price": f"{len(machines)} an hour", "source": source}
                yield PriceRow(cloud=name, region=prices.region, **row)


def _price_lines(books: Books, cloud: str, name: str) -> Iterator[ListingLine]:
    prices = books.of(cloud).prices
    if price := prices.disks.get(name):
        yield "usd a month", _set_fields(price), prices.sources[price.source].words()
    charges = shipped_book(Charges, cloud)
    billed = charges.transactions.get(name) if charges else None
    if charges is not None and billed is not None:
        yield "transactions", _set_fields(billed), charges.sources[billed.source].words()


def _machine_lines(books: Books, row: MachineRow) -> Iterator[ListingLine]:
    others = {"cloud", "type", "source", "price_source", "usd_per_hour", "caps"}
    figures = row.model_dump(exclude_none=True, exclude=others)
    yield "", _pairs(figures), row.source
    for disk, (read, write, read_rate, write_rate) in row.caps.items():
        text = f"read {read:,.0f} IOPS, {read_rate:,.0f} MiB/s; "
        text += f"write {write:,.0f} IOPS, {write_rate:,.0f} MiB/s"
        yield disk, text, row.source
    book = books.of(row.cloud).machines
    entry = book.types.get(row.type)
    if entry is not None and (local := entry.local) is not None:
        source = book.sources[local.speed.source].words() if local.speed else ""
        speed = f"together {_set_fields(local.speed)}" if local.speed else "speed unknown"
        text = f"{local.count} of {local.size_gb} GB, {speed}"
        yield "own disks", text, source or row.source
    if row.usd_per_hour is not None:
        yield "usd an hour", f"{row.usd_per_hour:g}", row.price_source
