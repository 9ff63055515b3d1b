"""Providers by name: ours, and those that other packages register under `diskbench.providers`."""

import functools
from collections.abc import Callable
from importlib import metadata

from diskbench.errors import UnknownName
from diskbench.ports import Provider

ENTRY_POINT_GROUP = "diskbench.providers"


def provider_names() -> tuple[str, ...]:
    """All names that `provider` knows, sorted; imports none of them."""
    return tuple(sorted({point.name for point in _entry_points()}))


def provider(name: str) -> Provider:
    """The provider `name`; raises UnknownName with the nearest ones."""
    for point in _entry_points():
        if point.name == name:
            make: Callable[[], Provider] = point.load()
            return make()
    raise UnknownName("provider", name, provider_names(), field="provider")


@functools.cache  # it reads what every installed package says of itself: 11 ms
def _entry_points() -> metadata.EntryPoints:
    return metadata.entry_points(group=ENTRY_POINT_GROUP)
