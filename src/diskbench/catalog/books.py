"""The catalogue as one session reads it: the shipped files with what was refreshed laid over them.

`Books` is a value: whoever opens a session opens it once (results/refreshed_catalogue.py) and
hands it down, so that everything planned in that session is planned on the same figures. Its
digest enters plans. Files that no overlay can patch are constant and need no Books (entry.py,
charges.py, …).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.machines import MachineBook, machine_book, parse_machines
from diskbench.catalog.overlay import MACHINES, PRICES, digest_of
from diskbench.catalog.price_book import PriceBook, parse_prices, price_book
from diskbench.catalog.yaml_loader import shipped

if TYPE_CHECKING:
    from diskbench.catalog.overlay import Overlay


@dataclass(frozen=True)
class ProviderBook:
    """The machines of one provider, and the prices of its machines and disks."""

    machines: MachineBook
    prices: PriceBook


@dataclass(frozen=True)
class Books:
    """The machines and prices of all providers, with `overlays` laid over them: at most one for
    each provider, none for the shipped catalogue.

    Each file is read when it is first asked for. `of` raises InvalidValue for an overlay after
    which a file breaks its own rules; `check` reads all that have one.
    """

    overlays: tuple[Overlay, ...] = ()

    @functools.cached_property
    def digest(self) -> str | None:
        """A short name of the overlays, as plans carry it; None for the shipped catalogue."""
        return digest_of(self.overlays)

    def of(self, cloud: str) -> ProviderBook:
        """The machines and prices of a provider; empty books for one that lists none."""
        book = self._known.get(cloud)
        if book is None:
            book = self._known[cloud] = self._read(cloud)
        return book

    def check(self) -> None:
        """Read every file with its overlay. Raises InvalidValue naming the file and every fault."""
        for overlay in self.overlays:
            self.of(overlay.cloud)

    @functools.cached_property
    def _known(self) -> dict[str, ProviderBook]:
        return {}

    def _read(self, cloud: str) -> ProviderBook:
        patches = next((overlay.patches for overlay in self.overlays if overlay.cloud == cloud), {})
        machines, prices = machine_book(cloud), price_book(cloud)
        if (patch := patches.get(MACHINES)) and (text := shipped(cloud, MACHINES)) is not None:
            machines = parse_machines(text, where=f"{cloud}/{MACHINES}", patch=patch)
        if (patch := patches.get(PRICES)) and (text := shipped(cloud, PRICES)) is not None:
            prices = parse_prices(text, where=f"{cloud}/{PRICES}", patch=patch)
        return ProviderBook(machines, prices)
