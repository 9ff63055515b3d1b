"""Providers by name, made from the installed plugins (diskbench.plugins)."""

import logging

from diskbench.plugins import loading, plugin
from diskbench.plugins import plugin_names as provider_names
from diskbench.ports import Provider

__all__ = ["provider", "provider_names"]

_OWN = logging.getLogger("diskbench")


def provider(name: str) -> Provider:
    """A new provider `name`; raises UnknownName with the nearest ones, ProviderBroken for one that
    cannot be made. Its libraries' log messages are shown with --debug only."""
    found = plugin(name)
    level = logging.INFO if _OWN.isEnabledFor(logging.DEBUG) else logging.CRITICAL
    for logger in found.quiet_loggers:
        logging.getLogger(logger).setLevel(level)
    with loading(name):
        made: Provider = found.load()
    return made
