"""The catalogue as it stands, for people: every disk type and machine, and each figure's source."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import Field

from diskbench.catalog.charges import charge_book
from diskbench.catalog.entry import CLOUDS, Figure, catalogue
from diskbench.catalog.gce_machines import machine_book, vcpus_of
from diskbench.catalog.vsphere import vsphere_book
from diskbench.errors import InvalidValue
from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from diskbench.catalog.books import Books
    from diskbench.catalog.entry import DiskEntry, Source


_TIER = re.compile(r"[A-Z][0-9]+")
"""Names of Azure's tiers, as P10."""
_NO_RULE = "any size counts as one I/O: no other rule is documented"


@dataclass(frozen=True)
class Told:
    """One line about a thing: a figure or words, and where they stand."""

    name: str
    text: str
    source: str = ""


@dataclass(frozen=True)
class Thing:
    """A disk type, a machine or a part of vSphere, with all that the catalogue knows of it."""

    cloud: str
    name: str
    kind: str
    title: str
    lines: tuple[Told, ...]


class MachineRow(Frozen):
    """One machine: what it sustains towards its network disks, and the most for a while where that
    is more. `cached_…` is Azure's path of cached disks. Google's caps depend on the disk type:
    those are `caps`. MB are 10^6 bytes; None where no figure is published."""

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
    """Cloud, name and entry of every disk type."""
    for cloud in CLOUDS:
        for name, entry in catalogue(cloud).disks.items():
            yield cloud, name, entry


def machine_rows(books: Books) -> Iterator[MachineRow]:
    """Every machine of which a limit or a price is known."""
    aws = books.aws
    for name, one in aws.instances.items():
        yield MachineRow(
            cloud="aws",
            type=name,
            vcpus=one.vcpus,
            memory_gib=one.memory_gib,
            iops=one.baseline_iops,
            mb_per_s=one.baseline_mb_per_s,
            max_iops=one.max_iops,
            max_mb_per_s=one.max_mb_per_s,
            usd_per_hour=one.usd_per_hour,
            source=aws.sources[one.source].words(),
            price_source=aws.sources[one.price_source].words(),
        )
    azure = books.azure
    for name, size in azure.sizes.items():
        price = azure.sources[size.price_source].words() if size.price_source else ""
        yield MachineRow(
            cloud="azure",
            type=name,
            vcpus=size.vcpus,
            memory_gib=size.memory_gib,
            iops=size.iops,
            mb_per_s=size.mb_per_s,
            max_iops=size.burst_iops,
            max_mb_per_s=size.burst_mb_per_s,
            cached_iops=size.cached_iops,
            cached_mb_per_s=size.cached_mb_per_s,
            usd_per_hour=size.usd_per_hour,
            source=azure.sources[size.source].words(),
            price_source=price,
        )
    yield from _google(books)


def _google(books: Books) -> Iterator[MachineRow]:
    book, prices = machine_book(), books.gcp
    for name in prices.machine_types():
        series, vcpus, priced = book.series_of(name), vcpus_of(name), prices.priced(name)
        if series is None or priced is None:
            continue
        caps, sources = {}, [series.source]
        for disk, fit in series.disks.items():
            cap = fit.cap(vcpus) if vcpus else None
            if cap is not None:
                rates = (cap.read_iops, cap.write_iops, cap.read_mib_per_s, cap.write_mib_per_s)
                caps[disk] = rates
                sources.append(fit.source)
        yield MachineRow(
            cloud="gcp",
            type=name,
            vcpus=vcpus,
            caps=caps,
            usd_per_hour=priced[0],
            source="; ".join(book.sources[key].words() for key in dict.fromkeys(sources)),
            price_source=prices.sources[priced[1]].words(),
        )


def find(books: Books, name: str) -> tuple[Thing, ...]:
    """Everything of that name, in every cloud: a disk type, one of its tiers, a part of its title,
    a machine, a part of vSphere. Raises InvalidValue with what is near."""
    things = list(_things(books))
    found = [one for one in things if one.name.lower() == name.lower()]
    found = found or _of_tier(things, name.upper()) or _of_title(things, name.lower())
    if not found:
        near = difflib.get_close_matches(name, sorted({one.name for one in things}), n=4)
        hint = f"did you mean {', '.join(near)}? " if near else ""
        raise InvalidValue(
            f"the catalogue knows nothing named {name!r}",
            advice=f"{hint}`diskbench catalog disks` and `instances` list what it knows",
        )
    return tuple(found)


def _of_tier(things: Iterable[Thing], tier: str) -> list[Thing]:
    """The disk type with such a tier, without its others."""
    if not _TIER.fullmatch(tier):
        return []
    return [
        replace(
            one,
            lines=tuple(
                line for line in one.lines if line.name == tier or not _TIER.fullmatch(line.name)
            ),
        )
        for one in things
        if any(line.name == tier for line in one.lines)
    ]


def _of_title(things: Iterable[Thing], part: str) -> list[Thing]:
    return [one for one in things if one.kind == "disk type" and part in one.title.lower()]


def _things(books: Books) -> Iterator[Thing]:
    for cloud, name, entry in disk_entries():
        lines = [*_lines(entry, catalogue(cloud).sources), *_price_lines(books, cloud, name)]
        if entry.unknown:
            lines.insert(0, Told("speed", entry.unknown))
        yield Thing(cloud, name, "disk type", entry.title, tuple(lines))
    for row in machine_rows(books):
        yield Thing(row.cloud, row.type, "machine", "", tuple(_machine_lines(books, row)))
    yield from vsphere_things()


def vsphere_things() -> Iterator[Thing]:
    """The kinds of datastores, disks and controllers of vSphere, and what may be set on a disk."""
    book = vsphere_book()
    parts: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("datastore", book.datastores),
        ("provisioning", book.provisioning),
        ("controller", book.controllers),
    )
    for kind, things in parts:
        for name, one in things.items():
            lines = tuple(_lines(one, book.sources))
            if kind == "datastore":
                source = book.sources[one.source].words()
                lines = (Told("speed", "none is promised", source), *lines)
            yield Thing("vsphere", name, kind, one.title, lines)
    for name, rule, title in (
        ("iops-limit", book.iops_limit, book.enforcement.title),
        ("accounting", book.accounting, "what counts as one I/O of a limit or a promise"),
        ("shares", book.shares, "what each level of shares of a virtual disk stands for"),
        ("disk-size", book.size_gib, "GiB of a virtual disk"),
    ):
        yield Thing("vsphere", name, "setting", title, tuple(_lines(rule, book.sources)))


def _lines(entry: Frozen, sources: Mapping[str, Source]) -> Iterator[Told]:
    """The figures of an entry, each with its source; its own first."""
    if isinstance(entry, Figure):
        text = _words(entry)
        if text:
            yield Told("", text, sources[entry.source].words())
    for name, value in entry:
        if name == "tiers" and isinstance(value, Figure):
            rows: Any = getattr(value, "rows", ())
            for row in rows:
                yield Told(row.name, _words(row), sources[value.source].words())
        elif isinstance(value, Figure):
            yield Told(name, _words(value) or _NO_RULE, sources[value.source].words())


def _words(figure: Frozen) -> str:
    """`per_gib 3, min 100, max 16,000`: what is set, without the source."""
    told = figure.model_dump(
        exclude_defaults=True, exclude={"source", "title", "name", "price_source"}
    )
    return ", ".join(f"{key} {_value(value)}" for key, value in told.items())


def _value(value: Any) -> str:  # noqa: ANN401 - whatever stands in a figure
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, dict):
        return "(" + ", ".join(f"{k} {_value(v)}" for k, v in value.items() if v is not None) + ")"
    if isinstance(value, list | tuple):
        return "; ".join(_value(one) for one in value)
    return str(value)


def _price_lines(books: Books, cloud: str, name: str) -> Iterator[Told]:
    if cloud == "aws" and (volume := books.aws.volumes.get(name)):
        yield Told("usd a month", _words(volume), books.aws.sources[volume.source].words())
    if cloud == "azure" and (price := books.azure.disks.get(name)):
        yield Told("usd a month", _words(price), books.azure.sources[price.source].words())
    if cloud == "gcp" and (sold := books.gcp.disks.get(name)):
        yield Told("usd a month", _words(sold), books.gcp.sources[sold.source].words())
    charges = charge_book()
    billed = charges.clouds[cloud].transactions.get(name) if cloud in charges.clouds else None
    if billed is not None:
        yield Told("transactions", _words(billed), charges.sources[billed.source].words())


def _machine_lines(books: Books, row: MachineRow) -> Iterator[Told]:
    told = row.model_dump(
        exclude_none=True,
        exclude={"cloud", "type", "source", "price_source", "usd_per_hour", "caps"},
    )
    yield Told("", ", ".join(f"{key} {_value(value)}" for key, value in told.items()), row.source)
    for disk, (read, write, read_rate, write_rate) in row.caps.items():
        text = f"read {read:,.0f} IOPS, {read_rate:,.0f} MiB/s; "
        text += f"write {write:,.0f} IOPS, {write_rate:,.0f} MiB/s"
        yield Told(disk, text, row.source)
    if row.cloud == "aws" and (local := books.aws.instances[row.type].local) is not None:
        source = books.aws.sources[local.speed.source].words() if local.speed else ""
        speed = f", together {_words(local.speed)}" if local.speed else ", speed not known"
        yield Told("own disks", f"{local.count} of {local.size_gb} GB{speed}", source or row.source)
    if row.usd_per_hour is not None:
        yield Told("usd an hour", f"{row.usd_per_hour:g}", row.price_source)
