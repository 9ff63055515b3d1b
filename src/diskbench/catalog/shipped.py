"""A provider's catalogue: how its files are read, and the form of `limits.yaml`, the disk types of
one provider, as it documents them.

A provider names its folder in its plugin (`Plugin.catalogue`). docs/contributing/provider.md lists
its files; any of them may be missing. Every item with a figure names its source
(catalog/sourced_figures.py); a file with an unsourced figure is refused (InvalidValue).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeVar

import yaml
from pydantic import ConfigDict, Field, ValidationError, model_validator

from diskbench.catalog import sourced_figures
from diskbench.errors import InvalidValue, UnknownName, check_known
from diskbench.model.base import Frozen
from diskbench.model.value_fault import value_faults
from diskbench.plugin import (
    catalogue_folder,
    known_plugin,
    loading,
    plugin,
    plugin_names,
    plugins,
    working,
)
from diskbench.yaml_lines import plain_yaml

Book = TypeVar("Book", bound=sourced_figures.ProviderFile)

LIMITS = "limits.yaml"
CHARGES = "charges.yaml"
MACHINES: Final = "machines.yaml"
PRICES: Final = "prices.yaml"


def catalogues() -> tuple[str, ...]:
    """The names of the installed providers that bring a catalogue, sorted."""
    named = {plugin.name: plugin.catalogue for plugin in plugins() if plugin.catalogue is not None}
    return tuple(working(named, lambda name: catalogue_folder(name, named[name])))


def check_catalogue(cloud: str) -> None:
    """Raise UnknownName for what is no provider with a catalogue, and ProviderBroken for a provider
    whose package cannot be loaded."""
    reference = plugin(cloud).catalogue if cloud in plugin_names() else None
    if reference is None:
        raise UnknownName("catalogue", cloud, catalogues())
    catalogue_folder(cloud, reference)


def shipped(cloud: str, name: str) -> str | None:
    """Return the text of a file of a provider's catalogue; None if it has no such file. Raises
    ProviderBroken for a plugin whose folder does not exist."""
    known = known_plugin(cloud)
    if known is None or known.catalogue is None:
        return None
    file = catalogue_folder(cloud, known.catalogue) / name
    return file.read_text(encoding="utf-8") if file.is_file() else None


def shipped_book(model: type[Book], cloud: str) -> Book | None:
    """Return a file of a provider's catalogue, read once; None if it has no such file. Raises
    ProviderBroken for a file that breaks the rules."""
    book: Book | None = _shipped_book(model, cloud)
    return book


@functools.cache
def _shipped_book(model: type[Book], cloud: str) -> Any:  # noqa: ANN401 - a cache loses the kind
    text = shipped(cloud, model.file)
    if text is None:
        return None
    with loading(cloud):
        return parse_book(model, text, where=f"{cloud}/{model.file}")


def parse_book(
    model: type[Book], text: str, *, where: str, patch: Mapping[str, Any] | None = None
) -> Book:
    """Validate the YAML in `text`, patched with `patch` (refreshed figures), as `model`.

    Raises InvalidValue naming `where`, what it should be, and every fault.
    """
    try:
        data = plain_yaml(text)
        return model.model_validate(merged(data, patch) if patch else data)
    except (yaml.YAMLError, ValidationError) as error:
        raise InvalidValue(
            f"{where} is not a valid {model.kind}: {value_faults(error, 'file')}",
            advice="each mapping with a figure needs a `source` that `sources` lists",
        ) from error


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return `below` patched with `above`: mappings are merged, other values replaced."""
    result = dict(below)
    for key, value in above.items():
        held = result.get(key)
        are_mappings = isinstance(held, dict) and isinstance(value, dict)
        result[key] = merged(held, value) if are_mappings else value  # type: ignore[arg-type]
    return result


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
        check_known(f"{self.cloud} disk type", disk_type, self.disks, field="disk")
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
