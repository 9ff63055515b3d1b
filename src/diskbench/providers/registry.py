"""Providers by name, made from the installed plugins (diskbench.plugin)."""

from __future__ import annotations

import contextlib
import logging
import threading

from diskbench.plugin import loading, plugin
from diskbench.plugin import plugin_names as provider_names
from diskbench.ports import KeepsSessions, Provider, Renter

__all__ = ["Providers", "provider", "provider_names"]

_OWN = logging.getLogger("diskbench")


class Providers:
    """The providers of one command or worker: each is made once, and what it opened at its cloud is
    closed with all of them. Threads may share it. It is also a context manager."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[str, Provider] = {}

    def named(self, name: str) -> Provider:
        """The provider `name`. Raises as `provider`."""
        with self._lock:
            if name not in self._made:
                self._made[name] = provider(name)
            return self._made[name]

    def renter(self, name: str) -> Renter | None:
        """The provider `name` if it rents machines; None if it measures existing machines. Raises
        as `provider`."""
        instance = self.named(name)
        return instance if isinstance(instance, Renter) else None

    def close(self) -> None:
        """End the sessions at the clouds; may be called any number of times."""
        with self._lock:
            made = list(self._made.values())
        for instance in made:
            if isinstance(instance, KeepsSessions):
                with contextlib.suppress(Exception):  # a fault at the end must not hide the result
                    instance.close()

    def __enter__(self) -> Providers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def provider(name: str) -> Provider:
    """A new provider `name`; raises UnknownName with the nearest ones, ProviderBroken for one that
    cannot be made. Its libraries' log messages are shown with --debug only."""
    chosen = plugin(name)
    level = logging.INFO if _OWN.isEnabledFor(logging.DEBUG) else logging.CRITICAL
    for logger in chosen.quiet_loggers:
        logging.getLogger(logger).setLevel(level)
    with loading(name):
        made: Provider = chosen.load()
    return made
