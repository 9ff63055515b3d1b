"""The catalogue as tables of 80 columns, and one item of it with all its sources."""

import functools
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest

from diskbench.catalog.listing import CatalogItem, MachineRow, PriceRow
from diskbench.catalog.shipped import DiskEntry
from diskbench.catalog.sourced_figures import Quantity
from diskbench.parallel import grouped

_DISKS = (("cloud", 6), ("disk type", 20), ("GiB", 13), ("IOPS", 19), ("throughput", 18))
_MACHINES = (
    ("machine", 22), ("vCPUs", 5), ("IOPS", 8), ("MB/s", 8), ("at most", 8), ("MB/s", 8),
    ("$/hour", 8),
)  # fmt: skip


def disk_table(entries: Iterable[tuple[str, str, DiskEntry]]) -> Iterator[str]:
    """A row per disk type: sizes, formulas of IOPS and throughput, and the burst below them."""
    yield from _row(_DISKS, [name for name, _ in _DISKS])
    for cloud, name, entry in entries:
        sizes = f"{entry.size_gib.min:,}–{entry.size_gib.max:,}" if entry.size_gib else "–"
        yield from _row(_DISKS, [cloud, name, sizes, *_rates(entry)])


def part_table(parts: Iterable[CatalogItem], note: str) -> Iterator[str]:
    """The other items of the catalogue, a line per kind, below the catalogue's note."""
    yield from textwrap.wrap(note, 80)
    for kind, of_kind in grouped(parts, lambda part: part.kind).items():
        yield f"  {kind:<12}  {', '.join(part.name for part in of_kind)}"


def machine_table(rows: Iterable[MachineRow], notes: Iterable[str] = ()) -> Iterator[str]:
    """A row per machine: sustained figures, burst figures and price; `notes` below."""
    yield from _row(_MACHINES, [name for name, _ in _MACHINES], right=1)
    for row in rows:
        most_iops = row.max_iops if row.max_iops != row.iops else None
        most_mb = row.max_mb_per_s if row.max_mb_per_s != row.mb_per_s else None
        figures = map(_number, (row.vcpus, row.iops, row.mb_per_s, most_iops, most_mb))
        usd = "–" if row.usd_per_hour is None else f"{row.usd_per_hour:.4f}"
        yield from _row(_MACHINES, [row.type, *figures, usd], right=1)
    for note in notes:
        yield from ("", *textwrap.wrap(note, 80))


def price_table(rows: Iterable[PriceRow]) -> Iterator[str]:
    """A line per disk type with its price a month, below its provider and region."""
    for (cloud, region), of_region in groupby(rows, key=lambda row: (row.cloud, row.region)):
        yield f"{cloud} {region}, US dollars a month"
        for row in of_region:
            text = f"  {row.name:<22}{row.price}"
            yield from _wrapped(text, 80, subsequent_indent=" " * 26)


_wrapped = functools.partial(textwrap.wrap, break_on_hyphens=False)


def thing_text(item: CatalogItem, width: int) -> Iterator[str]:
    """Everything the catalogue knows about one item, each figure above its source."""
    title = f": {item.title}" if item.title else ""
    texts = [("", "  ", f"{item.cloud} {item.kind} {item.name}{title}")]
    for name, text, source in item.lines:
        texts.append(("  ", "    ", f"{name}: {text}" if name else text))
        texts += [(" " * 6, " " * 6, source)] if source else []
    for first, further, text in texts:
        yield from _wrapped(text, width, initial_indent=first, subsequent_indent=further)


def _rates(entry: DiskEntry) -> tuple[str, str]:
    """IOPS and throughput, with what they burst to."""
    if (tiers := entry.tiers) is not None:
        iops = _by_tier([(row.iops, row.burst_iops) for row in tiers.rows], "by tier")
        rates = [(row.throughput, row.burst_throughput) for row in tiers.rows]
        return iops, _by_tier(rates, f"{tiers.unit} by tier")
    iops, throughput = formula(entry.iops), formula(entry.throughput)
    if entry.write_iops is not None:
        iops = f"read {iops}; write {formula(entry.write_iops)}"
    if entry.throughput is not None and entry.throughput.unit:
        throughput += f" {entry.throughput.unit}"
    iops += f"; burst {formula(entry.iops_burst)}" if entry.iops_burst else ""
    throughput += f"; burst {formula(entry.throughput_burst)}" if entry.throughput_burst else ""
    return iops, throughput


def _by_tier(rates: Sequence[tuple[float, float | None]], unit: str) -> str:
    """The span of the rates of all tiers, and the highest that one bursts to."""
    text = _span([rate for rate, _ in rates], unit)
    burst = max(burst or 0 for _, burst in rates)
    return f"{text}; burst to {_number(burst)}" if burst else text


def formula(quantity: Quantity | None) -> str:
    """`3/GiB, 100–16,000`: how a figure depends on the size; `sold` if the buyer chooses it."""
    if quantity is None:
        return "–"
    if quantity.fixed is not None:
        return _number(quantity.fixed)
    if quantity.steps:
        return _span([step.value for step in quantity.steps], "by size")
    if quantity.per_iops:
        return _upto(
            f"{quantity.per_iops[0].value:g}/IOPS", max(s.max or 0 for s in quantity.per_iops)
        )
    if quantity.per_throughput is not None:
        return _upto(f"{quantity.per_throughput:g} per MiB/s", quantity.max)
    if quantity.provisioned:
        return f"{_number(quantity.min)}–{_number(quantity.max)} sold"
    parts = [f"{quantity.base:,g}"] if quantity.base else []
    parts += [f"{quantity.per_gib:g}/GiB"] if quantity.per_gib else []
    parts += [f"{quantity.per_tib:g}/TiB"] if quantity.per_tib else []
    text = " + ".join(parts)
    if quantity.min is not None:
        return f"{text}, {_number(quantity.min)}–{_number(quantity.max)}"
    return _upto(text, quantity.max)


def _upto(text: str, most: float | None) -> str:
    return text if most is None else f"{text}, ≤ {_number(most)}"


def _span(values: Sequence[float], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{_number(low)}–{_number(high)} {unit}" if low < high else f"{_number(low)} {unit}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.6g}" if value < 1e6 else f"{value:,.0f}"


def _row(
    columns: Sequence[tuple[str, int]], cells: Sequence[str], *, right: int | None = None
) -> Iterator[str]:
    """A row whose cells wrap within their column; from column `right` on they are right-aligned. A
    name that is wider than the second column has a line of its own: it is there to be copied."""
    if len(cells[1]) > columns[1][1] and " " not in cells[1]:
        yield f"{cells[0]:<{columns[0][1]}} {cells[1]}"
        cells = ["", "", *cells[2:]]
    folded = [
        textwrap.wrap(cell, width, break_on_hyphens=False) or [""]
        for cell, (_, width) in zip(cells, columns, strict=True)
    ]
    for line in zip_longest(*folded, fillvalue=""):
        parts = (
            f"{text:{'<' if right is None or place < right else '>'}{width}}"
            for place, (text, (_, width)) in enumerate(zip(line, columns, strict=True))
        )
        yield " ".join(parts).rstrip()
