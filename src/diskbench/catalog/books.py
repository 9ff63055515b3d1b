"""The catalogue of one session: the shipped files, patched with figures that were refreshed from a
cloud's own APIs (overlays).

A patch has the form of the file that it patches, so that the rules of that file apply to the
result: a figure without a listed source is refused. results/refreshed_catalogue.py keeps them.

`Books` is a value: it is created once when a session opens (results/refreshed_catalogue.py) and
passed down, so that everything in that session is planned with the same figures. Plans record its
digest. Files that an overlay cannot patch are constant and need no Books (shipped.py, prices.py,
and `regions.yaml`, the regions that a provider has, so that a misspelt one is refused before
anything is asked).
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from pydantic import Field, field_validator

from diskbench.catalog.machine_book import MachineBook, machine_book
from diskbench.catalog.prices import PriceBook, price_book
from diskbench.catalog.shipped import (
    MACHINES,
    PRICES,
    catalogues,
    merged,
    parse_book,
    shipped,
    shipped_book,
)
from diskbench.catalog.sourced_figures import ProviderFile
from diskbench.errors import UnknownName
from diskbench.model.base import Frozen


@dataclass(frozen=True)
class ProviderBook:
    """The machines of one provider, and the prices of its machines and disks in the region of the
    shipped catalogue; `regional` are prices of other regions, shipped or refreshed, by region."""

    machines: MachineBook
    prices: PriceBook
    regional: Mapping[str, PriceBook] = field(default_factory=dict)

    def prices_in(self, region: str) -> PriceBook:
        """The prices of a region; those of the shipped one where they are not known."""
        return self.regional.get(region, self.prices)

    def asked_for(self, region: str | None) -> ProviderBook:
        """The book as a provider asks its cloud for another region: what has a price is known."""
        if region is None:
            return self
        return replace(self, prices=self.prices.model_copy(update={"region": region}))


_REFRESHED_FILES: Final = frozenset({MACHINES, PRICES})
"""The files of a provider that an overlay may patch. Its other files stay as shipped."""


class Overlay(Frozen):
    """The patches of one provider's files, by the files' names; `made_on` is the day of the
    answers, `region` that of the prices."""

    format: Literal[1] = 1
    cloud: str
    region: str
    made_on: str
    patches: dict[str, dict[str, Any]]

    @field_validator("patches")
    @classmethod
    def _files_can_be_patched(cls, patches: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        if unknown := patches.keys() - _REFRESHED_FILES:
            raise ValueError(
                f"{', '.join(sorted(unknown))} cannot be refreshed; "
                f"only {', '.join(sorted(_REFRESHED_FILES))} can"
            )
        return patches


@dataclass(frozen=True)
class Books:
    """The machines and prices of all providers, patched with `overlays`: at most one for a region
    of a provider, none for the shipped catalogue.

    Each file is read on first use. `of` raises InvalidValue if a file with its overlay breaks the
    file's rules; `check` reads all files that have an overlay.
    """

    overlays: tuple[Overlay, ...] = ()

    @functools.cached_property
    def digest(self) -> str | None:
        """Return a digest of the overlays for plans, which does not depend on their order; None for
        the shipped catalogue."""
        if not self.overlays:
            return None
        in_order = sorted(self.overlays, key=lambda overlay: (overlay.cloud, overlay.region))
        dumped = [overlay.model_dump(mode="json") for overlay in in_order]
        text = json.dumps(dumped, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def of(self, cloud: str) -> ProviderBook:
        """Return the machines and prices of a provider; empty if it lists none."""
        if cloud not in self._known:
            self._known[cloud] = self._read(cloud)
        return self._known[cloud]

    def check(self) -> None:
        """Read every file with its overlay. Raises InvalidValue naming the file and every fault."""
        for overlay in self.overlays:
            self.of(overlay.cloud)

    @functools.cached_property
    def _known(self) -> dict[str, ProviderBook]:
        return {}

    def _read(self, cloud: str) -> ProviderBook:
        overlays = [overlay for overlay in self.overlays if overlay.cloud == cloud]
        overlays.sort(key=lambda overlay: (overlay.made_on, overlay.region))
        machines, home = machine_book(cloud), price_book(cloud)
        limits: dict[str, Any] = {}  # of machines: the same in each region, the last answer counts
        for overlay in overlays:
            limits = merged(limits, overlay.patches.get(MACHINES, {}))
        if limits and (text := shipped(cloud, MACHINES)) is not None:
            machines = parse_book(MachineBook, text, where=f"{cloud}/{MACHINES}", patch=limits)
        prices, text = home, shipped(cloud, PRICES)
        regional = {region: home.of_region(region) for region in home.regions}
        for overlay in overlays:
            patch = overlay.patches.get(PRICES)
            if not patch or text is None:
                continue
            patched = parse_book(PriceBook, text, where=f"{cloud}/{PRICES}", patch=patch)
            if overlay.region == home.region:
                prices = patched
            else:
                regional[overlay.region] = patched.of_region(overlay.region, patch)
        return ProviderBook(machines, prices, regional)


class RegionBook(ProviderFile):
    """The file. A region that is newer than its source is not in it."""

    file = "regions.yaml"
    kind = "list of regions"

    source: str
    regions: tuple[str, ...]
    opt_in: tuple[str, ...] = ()
    """Those that an account must enable before it can use them."""
    areas: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """What people call several regions (`europe`): how the names of theirs begin."""

    def named_sources(self) -> dict[str, str]:
        """Return the one source, that of the regions."""
        return {"regions": self.source}


def check_region(cloud: str, region: str) -> None:
    """Raise UnknownName for a region that the catalogue of `cloud` does not list. Upper case and
    blanks do not count (`West Europe`); a provider without such a list has any region."""
    known = regions(cloud)
    if known and region.replace(" ", "").lower() not in known:
        raise UnknownName(f"region of {cloud}", region, known, field="region")


def regions(cloud: str) -> tuple[str, ...]:
    """Return the regions that the catalogue of `cloud` lists; none without such a list."""
    book = shipped_book(RegionBook, cloud)
    return () if book is None else book.regions


def areas() -> frozenset[str]:
    """Return the words for several regions that the catalogues have."""
    books = (shipped_book(RegionBook, cloud) for cloud in catalogues())
    return frozenset(area for book in books if book for area in book.areas)


def regions_in(cloud: str, place: str) -> tuple[str, ...]:
    """Return the regions of `cloud` that a place means: one by its name, or those of an area
    (`europe`); none where it has none there."""
    place = place.replace(" ", "").lower()
    book = shipped_book(RegionBook, cloud)
    if book is None:
        return ()
    begins = book.areas.get(place, ())
    return tuple(name for name in book.regions if name == place or name.startswith(begins))


def opt_in_regions(cloud: str) -> tuple[str, ...]:
    """Return the regions that an account must enable first."""
    book = shipped_book(RegionBook, cloud)
    return () if book is None else book.opt_in
