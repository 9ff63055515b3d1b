"""One thing as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.providers.gcp.errors import is_missing

if TYPE_CHECKING:
    from diskbench.providers.gcp.client import Compute, Item


def describe(compute: Compute, collection: str, zone: str, name: str) -> Item | None:
    """An instance or a disk as it is now; None when it is not there."""
    try:
        one = collection.removesuffix("s")
        return compute.call(collection, "get", {"zone": zone, one: name})
    except DiskbenchError as error:
        if is_missing(error):
            return None
        raise
