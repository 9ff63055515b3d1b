"""The catalogue as one session reads it: the shipped files with what was refreshed laid over them.

`Books` is a value: whoever opens a session opens it once (engine/refreshed.py) and hands it down,
so that everything planned in that session is planned on the same figures. Its digest enters plans.
Files that no overlay can patch are constant and need no Books (entry.py, charges.py, …).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.catalog.azure_sizes import SizeCatalogue, parse_sizes
from diskbench.catalog.book import shipped
from diskbench.catalog.gce_prices import PriceBook, parse_prices
from diskbench.catalog.instances import InstanceCatalogue, parse_instances
from diskbench.catalog.overlay import AWS_INSTANCES, AZURE_SIZES, GCP_PRICES, digest_of

if TYPE_CHECKING:
    from diskbench.catalog.overlay import Overlay


@dataclass(frozen=True)
class Books:
    """The machines, sizes and prices of the clouds, with `overlays` laid over them: at most one for
    each cloud, none for the shipped catalogue.

    Each file is read when it is first asked for. Raises InvalidValue then, for an overlay after
    which the file breaks its own rules; `check` reads all of them.
    """

    overlays: tuple[Overlay, ...] = ()

    @functools.cached_property
    def digest(self) -> str | None:
        """A short name of the overlays, as plans carry it; None for the shipped catalogue."""
        return digest_of(self.overlays)

    @functools.cached_property
    def aws(self) -> InstanceCatalogue:
        """AWS's machines and prices."""
        patch = self._patch(AWS_INSTANCES)
        return _aws(patch) if patch else _shipped_aws()

    @functools.cached_property
    def azure(self) -> SizeCatalogue:
        """Azure's machine sizes and prices."""
        patch = self._patch(AZURE_SIZES)
        return _azure(patch) if patch else _shipped_azure()

    @functools.cached_property
    def gcp(self) -> PriceBook:
        """Google Cloud's prices."""
        patch = self._patch(GCP_PRICES)
        return _gcp(patch) if patch else _shipped_gcp()

    def check(self) -> None:
        """Read every file with its overlay. Raises InvalidValue naming the file and every fault."""
        _ = self.aws, self.azure, self.gcp

    def _patch(self, file: str) -> dict[str, Any] | None:
        return next((one.patches[file] for one in self.overlays if file in one.patches), None)


def _aws(patch: dict[str, Any] | None) -> InstanceCatalogue:
    return parse_instances(shipped(AWS_INSTANCES), where=AWS_INSTANCES, patch=patch)


def _azure(patch: dict[str, Any] | None) -> SizeCatalogue:
    return parse_sizes(shipped(AZURE_SIZES), where=AZURE_SIZES, patch=patch)


def _gcp(patch: dict[str, Any] | None) -> PriceBook:
    return parse_prices(shipped(GCP_PRICES), where=GCP_PRICES, patch=patch)


# What the package ships cannot change while the process runs, so it is read once.
@functools.cache
def _shipped_aws() -> InstanceCatalogue:
    return _aws(None)


@functools.cache
def _shipped_azure() -> SizeCatalogue:
    return _azure(None)


@functools.cache
def _shipped_gcp() -> PriceBook:
    return _gcp(None)
