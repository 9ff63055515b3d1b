"""The installed plugins by name: ours and those of other packages. Imports no cloud's SDK.

A package whose provider cannot be loaded does not affect other providers: code that visits all
providers skips it with one warning, and code that names it gets ProviderBroken.
"""

import functools
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from typing import TypeVar

from diskbench.errors import DiskbenchError, ProviderBroken, UnknownName
from diskbench.plugin import Plugin

T = TypeVar("T")

ENTRY_POINT_GROUP = "diskbench.providers"
_warned: set[str] = set()
"""The providers that a warning of this process named."""


def plugin_names() -> tuple[str, ...]:
    """The names of all installed plugins, sorted; imports none of them."""
    return tuple(sorted({point.name for point in _entry_points()}))


@functools.cache
def plugin(name: str) -> Plugin:
    """The plugin `name`. Raises UnknownName with the nearest names, and ProviderBroken for an entry
    point that cannot be loaded or names no Plugin with that name."""
    for point in (one for one in _entry_points() if one.name == name):
        with loading(name):
            loaded = point.load()
            if not isinstance(loaded, Plugin) or loaded.name != name:
                must = f"the entry point must name a diskbench.plugin.Plugin called {name!r}"
                raise TypeError(must)
            # An invalid expression would fail where it is used, for guests of any provider.
            firmware = loaded.guest.firmware if loaded.guest is not None else ()
            patterns = [pattern for marks in firmware for pattern in marks.values()]
            for pattern in (loaded.zone_region or "", *patterns):
                re.compile(pattern)
            return loaded
    raise UnknownName("provider", name, plugin_names(), field="provider")


@functools.cache
def plugins() -> tuple[Plugin, ...]:
    """All installed plugins that can be loaded, sorted by name."""
    return tuple(working(plugin_names(), plugin).values())


def known_plugin(name: str) -> Plugin | None:
    """The plugin `name`, or None: stored results may be of a provider that is not installed, or
    cannot be loaded."""
    return working([name], plugin).get(name) if name in plugin_names() else None


def working(names: Iterable[str], load: Callable[[str], T]) -> dict[str, T]:
    """What `load` returns for each provider, by its name and in order. One for which it raises
    ProviderBroken is left out, with a warning the first time."""
    loaded: dict[str, T] = {}
    for name in names:
        try:
            loaded[name] = load(name)
        except ProviderBroken as error:
            _warn(name, str(error).replace("\n ", ";"))
    return loaded


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn whatever a part of the provider's package raises while it is loaded into ProviderBroken,
    which names the entry point, the package and the error."""
    try:
        yield
    except ProviderBroken:
        raise
    except Exception as error:
        point = _entry_point(name)
        why = (
            error.message
            if isinstance(error, DiskbenchError)
            else f"{type(error).__name__}: {error}"
        )
        package = point.dist.name if point.dist is not None else "its package"
        raise ProviderBroken(
            f"provider {name!r} cannot be loaded (entry point {point.value} of {package}): {why}",
            advice=f"install {package} again, or uninstall it; the other providers work",
            field="provider",
        ) from error


@functools.cache
def network_nvme_models() -> frozenset[str]:
    """The `network_nvme_models` of all installed plugins."""
    guests = (installed.guest for installed in plugins() if installed.guest is not None)
    return frozenset(model for guest in guests for model in guest.network_nvme_models)


@functools.cache
def catalogue_folder(name: str, reference: str) -> Traversable:
    """The folder that `package:folder` of a provider's plugin names. Raises ProviderBroken."""
    package, _, inside = reference.partition(":")
    with loading(name):
        folder = resources.files(package) / inside
        if not folder.is_dir():
            raise FileNotFoundError(f"its catalogue {reference!r} is not a folder (package:folder)")
    return folder


def _warn(name: str, message: str) -> None:
    """Warn of the first fault of a provider; a process repeats nothing and adds nothing to it."""
    if name not in _warned:
        _warned.add(name)
        logging.getLogger(__name__).warning("%s", message)


def _entry_point(name: str) -> metadata.EntryPoint:
    return next(point for point in _entry_points() if point.name == name)


@functools.cache  # reads the metadata of every installed package: 11 ms
def _entry_points() -> metadata.EntryPoints:
    return metadata.entry_points(group=ENTRY_POINT_GROUP)
