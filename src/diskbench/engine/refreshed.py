"""The refreshed catalogue: asked of the clouds, kept in the user's cache, laid over the files."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from diskbench.catalog.overlay import Overlay, lay
from diskbench.errors import InvalidValue
from diskbench.store.overlays import overlay_directory, read_overlays, write_overlay

if TYPE_CHECKING:
    from pathlib import Path

CLOUDS = ("aws", "azure", "gcp")


@functools.cache
def lay_refreshed() -> None:
    """Lay what is in the user's cache over the shipped catalogue, once a process. Raises
    InvalidValue for a file there that cannot be read."""
    if overlay_directory().is_dir():
        lay(read_overlays())


def refresh(cloud: str) -> tuple[Overlay, Path]:
    """Ask a cloud for limits and prices, keep the answer and lay it over the shipped files.

    Raises InvalidValue for a cloud that cannot be asked, and what its provider raises.
    """
    from diskbench.ports import Refreshes
    from diskbench.providers.registry import provider

    asked = provider(cloud)
    if not isinstance(asked, Refreshes):
        raise InvalidValue(
            f"--cloud {cloud} has no API of limits and prices", advice=f"one of {', '.join(CLOUDS)}"
        )
    found = asked.refreshed()
    others = [one for one in read_overlays() if one.cloud != cloud]
    _check([*others, found])
    path = write_overlay(found)
    return found, path


def _check(overlays: list[Overlay]) -> None:
    """Lay them and read every file with them, so that what is kept is known to be readable."""
    from diskbench.catalog.azure_sizes import azure_sizes
    from diskbench.catalog.gce_prices import price_book
    from diskbench.catalog.instances import instances

    before = read_overlays()
    lay(overlays)
    try:
        instances("aws"), azure_sizes(), price_book()
    except BaseException:
        lay(before)
        raise
