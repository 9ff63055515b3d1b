"""The form of `limits.yaml`: the disk types of one provider, as it documents them.

Every item with a figure names its source (catalog/sourced_figures.py); a file with an
unsourced figure is refused (InvalidValue).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from diskbench.catalog import sourced_figures
from diskbench.catalog.yaml_loader import LIMITS, catalogues, shipped_book
from diskbench.errors import UnknownName
from diskbench.model.base import Frozen
from diskbench.plugin import working

_DAY = r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]$"


class EarlierLimits(sourced_figures.SourcedFigure):
    """Figures that a type had up to and including the day `until`, where they differ from today's;
    `without` names figures that it did not have. `source` gives both dates and figures."""

    until: str = Field(pattern=_DAY)
    iops: sourced_figures.Quantity | None = None
    iops_burst: sourced_figures.Quantity | None = None
    throughput: sourced_figures.Quantity | None = None
    throughput_burst: sourced_figures.Quantity | None = None
    without: tuple[Literal["tier_burst", "iops_burst", "throughput_burst", "on_demand"], ...] = ()

    def changed(self) -> dict[str, Any]:
        """Return the fields of the entry that differ, by name."""
        own = self.model_dump(exclude={"until", "without", "source"}, exclude_none=True)
        return {name: getattr(self, name) for name in own} | dict.fromkeys(self.without)


class DiskEntry(Frozen):
    """One disk type. `apart`: reads and writes have separate limits; the `write_…` figures apply to
    writes where they differ. `unknown` says why there are no figures; `names` are what people call
    it beside the name that its cloud takes.

    The figures are known to hold from the day `from` on (None: for as long as the type exists), and
    `earlier` holds those of before, oldest first. The days between two are not known."""

    model_config = ConfigDict(populate_by_name=True)

    title: str
    names: tuple[str, ...] = ()
    since: str | None = Field(default=None, alias="from", pattern=_DAY)
    earlier: tuple[EarlierLimits, ...] = ()
    place: sourced_figures.Place = "network"
    source: str | None = None
    unknown: str | None = None
    size_gib: sourced_figures.Size | None = None
    apart: bool = False
    iops: sourced_figures.Quantity | None = None
    write_iops: sourced_figures.Quantity | None = None
    iops_ratio: sourced_figures.RatioLimit | None = None
    iops_burst: sourced_figures.Quantity | None = None
    throughput: sourced_figures.Quantity | None = None
    write_throughput: sourced_figures.Quantity | None = None
    throughput_ratio: sourced_figures.RatioLimit | None = None
    throughput_burst: sourced_figures.Quantity | None = None
    tiers: sourced_figures.Tiers | None = None
    tier_burst: sourced_figures.BurstTime | None = None
    on_demand: sourced_figures.OnDemandBurst | None = None
    time_share: sourced_figures.TimeShare | None = None
    until: str | None = None
    accounting: sourced_figures.Accounting | None = None
    latency: sourced_figures.LatencyFigure | None = None
    write_latency: sourced_figures.LatencyFigure | None = None

    def sources(self) -> tuple[str, ...]:
        """The keys of all sources that this type refers to, sorted."""
        named = {v.source for _, v in self if isinstance(v, sourced_figures.SourcedFigure)}
        return tuple(sorted(named | ({self.source} if self.source else set())))

    def versions(self, day: str | None = None) -> tuple[DiskEntry, ...]:
        """Return what may have held on a day (`2018-03-16`; a year or a month will do), the latest
        first: one version if the dates decide, else those on both sides; all of them without a
        day."""
        past = [self._as_of(version) for version in reversed(self.earlier)]
        if day is None:
            return (self, *past)
        if self.since is None or day >= self.since:
            return (self,)
        held = next((version for version in self.earlier if day <= version.until), None)
        return (self._as_of(held),) if held else (self, *past[:1])

    def _as_of(self, before: EarlierLimits) -> DiskEntry:
        changed = {**before.changed(), "source": before.source, "until": before.until}
        return self.model_copy(update={**changed, "since": None, "earlier": ()})


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


class Catalogue(sourced_figures.ProviderFile):
    """One provider's file. `accounting` is its rule for counting the requests of every disk, if it
    has one; `host_cache` is the disk type that holds the host cache, whose hits are as fast as that
    type; None if machines do not cache disks. `parts` are further entries by
    kind and name; `note` is printed above them in a table."""

    file = LIMITS
    kind = "catalogue"

    note: str = ""
    host_cache: str | None = None
    accounting: sourced_figures.Accounting | None = None
    disks: dict[str, DiskEntry] = Field(default_factory=dict)
    parts: dict[str, dict[str, Part]] = Field(default_factory=dict)

    def named(self, typed: str) -> str:
        """Return the disk type that was typed in another case or by another name (`Premium SSD`);
        the text itself if it is none."""
        called = {
            other.casefold(): name
            for name, entry in reversed(self.disks.items())
            for other in (name, *entry.names)
        }
        return called.get(typed.casefold(), typed)

    def disk(self, disk_type: str) -> DiskEntry:
        """Return a disk type by its name. Raises UnknownName."""
        if disk_type not in self.disks:
            raise UnknownName(f"{self.cloud} disk type", disk_type, self.disks, field="disk")
        return self.disks[disk_type]

    @model_validator(mode="after")
    def _hit_is_a_disk(self) -> Catalogue:
        if self.host_cache is not None and self.host_cache not in self.disks:
            raise ValueError(f"host_cache: {self.host_cache!r} is not among the disks")
        return self


def catalogue(cloud: str) -> Catalogue:
    """Return the shipped file of a provider. Raises UnknownName if it has none, InvalidValue if the
    file breaks the rules."""
    known = known_catalogue(cloud)
    if known is None:
        raise UnknownName("catalogue", cloud, catalogues())
    return known


def known_catalogue(cloud: str) -> Catalogue | None:
    """Return the shipped file of a provider; None if it has none. Raises InvalidValue if the file
    breaks the rules."""
    return shipped_book(Catalogue, cloud)


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
