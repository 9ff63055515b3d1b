"""The figures of `limits.yaml`, each with its source: sizes, quantities, ratios, tiers, bursts.

Figures keep the cloud's own units and formulas; `lookup` turns them into limits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from diskbench.catalog.bucket import IoAccounting
from diskbench.model.base import Frozen
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


class SourcedNumber(SourcedFigure):
    """A figure that is one number, in the unit that its name in the file says."""

    value: float


class HourlyPrice(SourcedFigure):
    """US dollars an hour; `everywhere`: in any region, else in that of the file. `minimum_s` are
    the seconds that are billed at least."""

    usd_per_hour: float
    everywhere: bool = False
    minimum_s: float = 0.0


class BurstTime(SourcedFigure):
    """How long a burst lasts from a full bucket, and in what time an empty one is full again at the
    earliest; None: as fast as the baseline fills it."""

    duration_s: float
    every_s: float | None = None


class ProviderFile(Frozen):
    """One of a provider's files, `file`; what it is (`kind`) is said where it cannot be read."""

    file: ClassVar[str]
    kind: ClassVar[str]

    format: Literal[1]
    cloud: str
    sources: dict[str, FigureSource]

    def named_sources(self) -> dict[str, str]:
        """Return the key of each figure's source, by the figure's place in the file."""
        return {
            place: source
            for name, value in self
            if name != "sources"
            for place, source in _sources_in(value, name)
        }

    @model_validator(mode="after")
    def _every_source_is_listed(self) -> Self:
        named = self.named_sources().items()
        if missing := [f"{place}: {key!r}" for place, key in named if key not in self.sources]:
            raise ValueError(f"{'; '.join(missing)} is not in the list of sources")
        return self


def _sources_in(node: object, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, list | tuple):
        for index, item in enumerate(node):
            yield from _sources_in(item, f"{place}[{index}]")
    elif isinstance(node, Frozen | Mapping):
        items: Any = node.items() if isinstance(node, Mapping) else node
        for name, value in items:
            if name == "source" and value is not None:
                yield place, str(value)
            elif isinstance(value, Frozen | Mapping | list | tuple):
                yield from _sources_in(value, f"{place}.{name}")


class Size(SourcedFigure):
    """The sizes in GiB that are sold, both ends included."""

    min: int
    max: int


class QuantityStep(Frozen):
    """A value up to a size, or a factor on the IOPS up to so many, at most `max`; the last step has
    no upper end."""

    up_to_gib: float | None = None
    up_to_iops: float | None = None
    value: float
    max: float | None = None


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
    steps: tuple[QuantityStep, ...] = ()
    per_iops: tuple[QuantityStep, ...] = ()
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

    def value(self, size_gib: float, requested: float | None = None) -> float:
        """Return the figure for a size in its own unit. `requested` is the disk's IOPS (for
        a throughput by IOPS) or its throughput (for IOPS by throughput)."""
        if self.fixed is not None:
            return self.fixed
        if self.steps:
            return next(s.value for s in self.steps if size_gib <= (s.up_to_gib or math.inf))
        if self.per_iops and requested is not None:
            step = next(s for s in self.per_iops if requested <= (s.up_to_iops or math.inf))
            return min(step.max or math.inf, step.value * requested)
        if self.per_throughput is not None and requested is not None:
            return self.clamped(self.per_throughput * requested)
        return self.clamped(self.base + (self.per_gib + self.per_tib / GIB_PER_TIB) * size_gib)

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
        per_tib = self.capacity_per_tib
        return self.capacity if per_tib is None else per_tib * size_gib / GIB_PER_TIB

    def clamped(self, value: float) -> float:
        """Return `value` clamped to min and max."""
        low = value if self.min is None else max(self.min, value)
        return low if self.max is None else min(self.max, low)


class RatioLimit(SourcedFigure):
    """The least and the largest ratio per GiB, and the largest per IOPS; values up to `free` are
    exempt from the largest."""

    min_per_gib: float | None = None
    max_per_gib: float | None = None
    max_per_iops: float | None = None
    free: float = 0

    def range(self, low: float, high: float, size_gib: float) -> tuple[float, float]:
        """Return what of `low` to `high` is sold with a size: the least of a type gives way to the
        largest ratio of a small disk."""
        if self.max_per_gib is not None:
            high = min(high, max(self.free, self.max_per_gib * size_gib))
        return min(high, max(low, (self.min_per_gib or 0) * size_gib)), high


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


class Expanded(Frozen):
    """What one tier reaches with the higher limits that are asked for when a disk is made."""

    iops: float
    throughput: float


class ExpandedTiers(SourcedFigure):
    """The tiers that have higher limits for the asking, by name."""

    rows: dict[str, Expanded]


class Tiers(SourcedFigure):
    """The table of a type that is sold in sizes, smallest first. `chosen` is None if a disk always
    has its size's own tier, `expanded` if none has higher limits for the asking."""

    unit: Unit
    rows: tuple[Tier, ...] = Field(min_length=1)
    chosen: ChosenTiers | None = None
    expanded: ExpandedTiers | None = None

    @property
    def unit_bytes(self) -> int:
        return _UNIT_BYTES[self.unit]

    def row(self, size_gib: float) -> Tier:
        """Return the row that a size belongs to."""
        return next((r for r in self.rows if size_gib <= r.gib), self.rows[-1])


class TimeShare(SourcedFigure):
    """How much of the time a disk is designed to deliver its performance, or `at_least` that
    fraction of it."""

    of_time: float
    at_least: float = 1.0


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
    """Milliseconds that an unthrottled request takes: best, usual, and the promised worst; None
    where nothing is known. In the limits of a disk, `source` are the words of the source."""

    best_ms: float | None = Field(default=None, gt=0)
    usual_ms: float | None = Field(default=None, gt=0)
    worst_ms: float = Field(gt=0)

    @property
    def usual(self) -> float:
        """The usual latency in milliseconds, or the promised one if no usual one is known."""
        return self.worst_ms if self.usual_ms is None else self.usual_ms


Place = Literal["network", "machine", "cache"]
"""Where a disk is: behind the machine's path to network disks; inside the machine; or on the device
that also holds the host cache, behind the limits of cached disks."""
