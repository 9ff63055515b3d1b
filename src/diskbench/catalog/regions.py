"""The form of `regions.yaml`: the regions that a provider has, so that a misspelt one is refused
before anything is asked."""

from __future__ import annotations

import functools
from functools import partial
from typing import TYPE_CHECKING, Literal

from pydantic import model_validator

from diskbench.catalog.limits.sourced_figures import FigureSource
from diskbench.catalog.yaml_loader import check_sources, parse_book, shipped_book
from diskbench.errors import UnknownName
from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from typing import Self

REGIONS = "regions.yaml"


class RegionBook(Frozen):
    """The file. A region that is newer than its source is not in it."""

    format: Literal[1]
    cloud: str
    sources: dict[str, FigureSource]
    source: str
    regions: tuple[str, ...]

    @model_validator(mode="after")
    def _source_is_listed(self) -> Self:
        check_sources({"regions": self.source}, self.sources)
        return self


def check_region(cloud: str, region: str) -> None:
    """Raise UnknownName for a region that the catalogue of `cloud` does not list. Upper case and
    blanks do not count (`West Europe`); a provider without such a list has any region."""
    known = regions(cloud)
    if known and region.replace(" ", "").lower() not in known:
        raise UnknownName(f"region of {cloud}", region, known, field="region")


@functools.cache
def regions(cloud: str) -> tuple[str, ...]:
    """Return the regions that the catalogue of `cloud` lists; none without such a list."""
    book = shipped_book(cloud, REGIONS, partial(parse_book, RegionBook, kind="list of regions"))
    return () if book is None else book.regions
