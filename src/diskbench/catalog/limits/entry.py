"""The form of `limits.yaml`: the disk types of one provider, as it documents them.

Figures keep the cloud's own units and formulas; `lookup` turns them into limits. Every item with a
figure names its source; a file with an unsourced figure is refused (InvalidValue).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from diskbench.catalog.limits.bucket import IoAccounting
from diskbench.catalog.yaml_loader import (
    LIMITS,
    catalogues,
    check_sources,
    parse_book,
    shipped_book,
)
from diskbench.errors import UnknownName
from diskbench.model.base import Frozen
from diskbench.plugins import working
from diskbench.units import KIB, MIB

GIB_PER_TIB = 1024
_DATE = re.compile(r"20[0-9]{2}(-[01][0-9](-[0-3][0-9])?)?")
_UNIT_BYTES = {"MiB/s": MIB, "MB/s": 10**6}

Unit = Literal["MiB/s", "MB/s"]


class FigureSource(Frozen):
    """Where a figure was read. `as_of` is the date of the document. If the document has no date,
    `read` is the day on which it was read, and the figure is less certain."""

    title: str = Field(min_length=1)
    as_of: str | None
    read: str | None = None

    @model_validator(mode="after")
    def _has_a_date(self) -> FigureSource:
        for date in (self.as_of, self.read):
            if date is not None and not _DATE.fullmatch(date):
                raise ValueError(f"{date!r} is not a date: write 2026, 2026-11 or 2026-11-21")
        if self.as_of is None and self.read is None:
            raise ValueError(f"{self.title}: it has neither a date nor the day it was read on")
        return self

    def words(self) -> str:
        """Return `EC2 User Guide … (2023-05-11)`, or the same with the day it was read."""
        read = f"read {self.read}" if "undated" in self.title else f"undated, read {self.read}"
        return f"{self.title} ({self.as_of or read})"


class SourcedFigure(Frozen):
    """An item that holds a figure; `source` is a key of the file's sources."""

    source: str


class Size(SourcedFigure):
    """The sizes in GiB that are sold, both ends included."""

    min: int
    max: int


class SizeStep(Frozen):
    """A value up to a size; the last step has no upper end."""

    up_to_gib: float | None = None
    value: float


class IopsStep(Frozen):
    """A factor on the IOPS, up to so many IOPS, and at most `max`."""

    up_to_iops: float | None = None
    value: float
    max: float


class Quantity(SourcedFigure):
    """IOPS or throughput of a disk by size: clamp(base + per_gib × GiB, min, max), unless `fixed`,
    or looked up in `steps` by size or in `per_iops` by IOPS, or `per_throughput` × MiB/s.

    `range` is the least and the most of an average that is documented without a limit. A
    `provisioned` quantity is requested by the user within min and max, or has a default. A burst
    states the capacity of its bucket in I/Os, or in the unit's own megabytes.
    """

    unit: Unit | None = None
    fixed: float | None = None
    range: tuple[float, float] | None = None
    base: float = 0
    per_gib: float = 0
    per_tib: float = 0
    min: float | None = None
    max: float | None = None
    steps: tuple[SizeStep, ...] = ()
    per_iops: tuple[IopsStep, ...] = ()
    per_throughput: float | None = None
    provisioned: bool = False
    default: float | None = None
    default_base: float | None = None
    default_per_gib: float = 0
    default_per_tib: float = 0
    capacity: float | None = None
    capacity_per_tib: float | None = None

    @property
    def unit_bytes(self) -> int:
        """The bytes of one unit; 1 for IOPS."""
        return _UNIT_BYTES[self.unit] if self.unit else 1

    def value(self, size_gib: float, other: float | None = None) -> float:
        """Return the figure for a size in its own unit. `other` is the disk's IOPS (for a
        throughput by IOPS) or its throughput (for IOPS by throughput)."""
        if self.fixed is not None:
            return self.fixed
        if self.steps:
            return next(
                s.value for s in self.steps if s.up_to_gib is None or size_gib <= s.up_to_gib
            )
        if self.per_iops and other is not None:
            step = next(s for s in self.per_iops if s.up_to_iops is None or other <= s.up_to_iops)
            return min(step.max, step.value * other)
        if self.per_throughput is not None and other is not None:
            return self.clamped(self.per_throughput * other)
        linear = self.base + (self.per_gib + self.per_tib / GIB_PER_TIB) * size_gib
        return self.clamped(linear)

    def default_value(self, size_gib: float) -> float | None:
        """Return the provisioned default; None if the user must give a value."""
        if self.default is not None:
            return self.default
        per_gib = self.default_per_gib + self.default_per_tib / GIB_PER_TIB
        if self.default_base is None and not per_gib:
            return None
        return self.clamped((self.default_base or 0) + per_gib * size_gib)

    def capacity_value(self, size_gib: float) -> float | None:
        """Return the bucket's capacity for a size, in I/Os or the unit's megabytes."""
        if self.capacity_per_tib is not None:
            return self.capacity_per_tib * size_gib / GIB_PER_TIB
        return self.capacity

    def clamped(self, value: float) -> float:
        """Return `value` clamped to min and max."""
        low = value if self.min is None else max(self.min, value)
        return low if self.max is None else min(self.max, low)


class RatioLimit(SourcedFigure):
    """The largest ratio per GiB or per IOPS; values up to `free` are exempt."""

    max_per_gib: float | None = None
    max_per_iops: float | None = None
    free: float = 0


class Tier(Frozen):
    """One row of a table by size: a disk is billed, and performs, as the next larger row."""

    name: str
    gib: int
    iops: float
    throughput: float
    burst_iops: float | None = None
    burst_throughput: float | None = None


class ChosenTiers(SourcedFigure):
    """Tiers above the size's own that may be chosen; those of `large` only above a size."""

    large: tuple[str, ...] = ()
    above_gib: int = 0


class Tiers(SourcedFigure):
    """The table of a type that is sold in sizes, smallest first. `chosen` is None if a disk always
    has its size's own tier."""

    unit: Unit
    rows: tuple[Tier, ...] = Field(min_length=1)
    chosen: ChosenTiers | None = None

    @property
    def unit_bytes(self) -> int:
        """The bytes of one unit."""
        return _UNIT_BYTES[self.unit]

    def row(self, size_gib: float) -> Tier:
        """Return the row that a size belongs to."""
        return next((r for r in self.rows if size_gib <= r.gib), self.rows[-1])


class TierBurst(SourcedFigure):
    """How long a tier with a burst sustains it from a full bucket."""

    duration_s: float


class OnDemandBurst(SourcedFigure):
    """The performance that a disk above a size reaches while on-demand bursting is paid for;
    throughput in the unit of the type's tiers."""

    above_gib: int
    iops: float
    throughput: float


class Accounting(SourcedFigure):
    """What counts as one I/O: a larger request counts as several, a smaller one is charged as
    `min_charge_kib`. None if no such rule is documented. `merges`: small sequential requests may be
    merged into one of `max_io_kib`."""

    max_io_kib: int | None = None
    min_charge_kib: int | None = None
    merges: bool = False

    def rule(self) -> IoAccounting:
        """Return the rule in bytes."""
        return IoAccounting(
            None if self.max_io_kib is None else self.max_io_kib * KIB,
            None if self.min_charge_kib is None else self.min_charge_kib * KIB,
        )


class LatencyFigure(SourcedFigure):
    """Milliseconds that an unthrottled request takes: best, usual, and the promised worst."""

    best_ms: float | None = Field(default=None, gt=0)
    usual_ms: float | None = Field(default=None, gt=0)
    worst_ms: float = Field(gt=0)


Place = Literal["network", "machine", "cache"]
"""Where a disk is: behind the machine's path to network disks; inside the machine; or on the device
that also holds the host cache, behind the limits of cached disks."""


_DAY = r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]$"


class EarlierLimits(SourcedFigure):
    """Figures that a type had up to and including the day `until`, where they differ from today's;
    `without` names figures that it did not have. `source` gives both dates and figures."""

    until: str = Field(pattern=_DAY)
    iops: Quantity | None = None
    iops_burst: Quantity | None = None
    throughput: Quantity | None = None
    throughput_burst: Quantity | None = None
    without: tuple[Literal["tier_burst", "iops_burst", "throughput_burst", "on_demand"], ...] = ()

    def changed(self) -> dict[str, Any]:
        """Return the fields of the entry that differ, by name."""
        own = self.model_dump(exclude={"until", "without", "source"}, exclude_none=True)
        return {name: getattr(self, name) for name in own} | dict.fromkeys(self.without)


class DiskEntry(Frozen):
    """One disk type. `apart`: reads and writes have separate limits; the `write_…` figures apply to
    writes where they differ. `unknown` says why there are no figures.

    The figures are known to hold from the day `from` on (None: for as long as the type exists), and
    `earlier` holds those of before, oldest first. The days between two are not known."""

    model_config = ConfigDict(populate_by_name=True)

    title: str
    since: str | None = Field(default=None, alias="from", pattern=_DAY)
    earlier: tuple[EarlierLimits, ...] = ()
    place: Place = "network"
    source: str | None = None
    unknown: str | None = None
    size_gib: Size | None = None
    apart: bool = False
    iops: Quantity | None = None
    write_iops: Quantity | None = None
    iops_ratio: RatioLimit | None = None
    iops_burst: Quantity | None = None
    throughput: Quantity | None = None
    write_throughput: Quantity | None = None
    throughput_ratio: RatioLimit | None = None
    throughput_burst: Quantity | None = None
    tiers: Tiers | None = None
    tier_burst: TierBurst | None = None
    on_demand: OnDemandBurst | None = None
    until: str | None = None
    accounting: Accounting | None = None
    latency: LatencyFigure | None = None
    write_latency: LatencyFigure | None = None

    def sources(self) -> tuple[str, ...]:
        """The keys of all sources that this type refers to, sorted."""
        named = {v.source for _, v in self if isinstance(v, SourcedFigure)}
        return tuple(sorted(named | ({self.source} if self.source else set())))

    def versions(self, day: str | None = None) -> tuple[DiskEntry, ...]:
        """Return what may have held on a day (`2018-03-16`; a year or a month will do), the latest
        first: one version where the dates tell, else those on both sides; all of them without a
        day."""
        past = [self._as_of(version) for version in reversed(self.earlier)]
        if day is None:
            return (self, *past)
        if self.since is None or day >= self.since:
            return (self,)
        held = [version for version in self.earlier if day <= version.until]
        if held:
            return (self._as_of(held[0]),)
        return (self, *past[:1])

    def _as_of(self, before: EarlierLimits) -> DiskEntry:
        changed = {**before.changed(), "source": before.source, "until": before.until}
        return self.model_copy(update={**changed, "since": None, "earlier": ()})


class HostCache(Frozen):
    """Machines have a host cache. `hit` names the disk type that holds the cache: hits are as fast
    as that type."""

    hit: str


class Part(Frozen):
    """An entry other than a disk type: a kind of datastore or controller, a setting. Its extra keys
    are its own figures; a mapping among them has its own `source`."""

    model_config = ConfigDict(extra="allow")

    title: str
    source: str | None = None
    speed: str = ""

    def figures(self) -> dict[str, Any]:
        """Return its own figures by name."""
        return {k: v for k, v in (self.model_extra or {}).items() if not isinstance(v, Mapping)}

    def groups(self) -> dict[str, Mapping[str, Any]]:
        """Return figures that have their own source, by the group's name."""
        return {k: v for k, v in (self.model_extra or {}).items() if isinstance(v, Mapping)}

    @model_validator(mode="after")
    def _every_figure_has_a_source(self) -> Part:
        if self.source is None and self.figures():
            raise ValueError(f"{', '.join(self.figures())}: a figure needs a source")
        for name, group in self.groups().items():
            if "source" not in group:
                raise ValueError(f"{name}: a figure needs a source")
        return self

    def sources(self) -> Iterator[str]:
        """Yield the keys of the sources that it refers to."""
        if self.source is not None:
            yield self.source
        yield from (str(group["source"]) for group in self.groups().values())


class Catalogue(Frozen):
    """One provider's file. `accounting` is its rule for counting the requests of every disk, if it
    has one; `host_cache` is None if machines do not cache disks. `parts` are further entries by
    kind and name; `note` is printed above them in a table."""

    format: Literal[1]
    cloud: str
    note: str = ""
    sources: dict[str, FigureSource]
    host_cache: HostCache | None = None
    accounting: Accounting | None = None
    disks: dict[str, DiskEntry] = Field(default_factory=dict)
    parts: dict[str, dict[str, Part]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _every_source_is_listed(self) -> Catalogue:
        named = {
            f"{name} {key}": key for name, disk in self.disks.items() for key in disk.sources()
        }
        named |= {
            f"{name} chosen": disk.tiers.chosen.source
            for name, disk in self.disks.items()
            if disk.tiers and disk.tiers.chosen
        }
        named |= {
            f"{kind} {name} {key}": key
            for kind, parts in self.parts.items()
            for name, part in parts.items()
            for key in part.sources()
        }
        named |= {
            f"{name} until {before.until} {figure.source}": figure.source
            for name, disk in self.disks.items()
            for before in disk.earlier
            for figure in (before, *(v for _, v in before if isinstance(v, SourcedFigure)))
        }
        if self.accounting is not None:
            named["accounting"] = self.accounting.source
        check_sources(named, self.sources)
        if self.host_cache is not None and self.host_cache.hit not in self.disks:
            raise ValueError(f"host_cache.hit: {self.host_cache.hit!r} is not among the disks")
        return self


def catalogue(cloud: str) -> Catalogue:
    """Return the shipped file of a provider. Raises UnknownName if it has none, InvalidValue if the
    file breaks the rules."""
    known = known_catalogue(cloud)
    if known is None:
        raise UnknownName("catalogue", cloud, catalogues())
    return known


@functools.cache
def known_catalogue(cloud: str) -> Catalogue | None:
    """Return the shipped file of a provider; None if it has none. Raises InvalidValue if the file
    breaks the rules."""
    return shipped_book(cloud, LIMITS, parse_catalogue)


def caches_disks(cloud: str) -> bool:
    """Whether a provider's machines have a host cache (option `cache`), so that a missing `--cache`
    means `none`; False for a provider without a catalogue."""
    known = known_catalogue(cloud)
    return known is not None and known.host_cache is not None


@functools.cache
def clouds() -> tuple[str, ...]:
    """Return the providers with disk types in the catalogue, sorted."""
    every = working(catalogues(), known_catalogue)
    return tuple(name for name, book in every.items() if book is not None and book.disks)


def parse_catalogue(text: str, *, where: str) -> Catalogue:
    """Parse a catalogue from YAML. Raises InvalidValue naming `where` and every fault."""
    return parse_book(Catalogue, text, where=where, wanted="catalogue")
