"""The installed plugins by name: ours and those of other packages. Imports no cloud's SDK."""

from __future__ import annotations

import functools
from importlib import metadata

from diskbench.errors import InvalidValue, UnknownName
from diskbench.plugin import Plugin

ENTRY_POINT_GROUP = "diskbench.providers"


def plugin_names() -> tuple[str, ...]:
    """The names of all installed plugins, sorted; imports none of them."""
    return tuple(sorted({point.name for point in _entry_points()}))


@functools.cache
def plugin(name: str) -> Plugin:
    """The plugin `name`. Raises UnknownName with the nearest names, and InvalidValue for an entry
    point whose object is not a Plugin with that name."""
    for point in _entry_points():
        if point.name == name:
            loaded = point.load()
            if not isinstance(loaded, Plugin) or loaded.name != name:
                raise InvalidValue(
                    f"the entry point {point.value} of provider {name!r} is not a Plugin with "
                    "that name",
                    advice="name a diskbench.plugin.Plugin there, and install its package again",
                    field="provider",
                )
            return loaded
    raise UnknownName("provider", name, plugin_names(), field="provider")


@functools.cache
def plugins() -> tuple[Plugin, ...]:
    """All installed plugins, sorted by name. Raises InvalidValue as `plugin` does."""
    return tuple(plugin(name) for name in plugin_names())


def known_plugin(name: str) -> Plugin | None:
    """The plugin `name`, or None: stored results may be of a provider that is not installed."""
    return plugin(name) if name in plugin_names() else None


@functools.cache
def network_nvme_models() -> frozenset[str]:
    """The `network_nvme_models` of all installed plugins."""
    guests = (installed.guest for installed in plugins() if installed.guest is not None)
    return frozenset(model for guest in guests for model in guest.network_nvme_models)


@functools.cache  # reads the metadata of every installed package: 11 ms
def _entry_points() -> metadata.EntryPoints:
    return metadata.entry_points(group=ENTRY_POINT_GROUP)
