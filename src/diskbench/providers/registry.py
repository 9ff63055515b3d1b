"""Providers by name, made from the installed plugins (diskbench.plugins)."""

from diskbench.plugins import plugin
from diskbench.plugins import plugin_names as provider_names
from diskbench.ports import Provider

__all__ = ["provider", "provider_names"]


def provider(name: str) -> Provider:
    """A new provider `name`; raises UnknownName with the nearest ones."""
    made: Provider = plugin(name).load()
    return made
