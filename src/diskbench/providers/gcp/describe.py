"""The present state of one resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.providers.gcp.errors import is_missing

if TYPE_CHECKING:
    from diskbench.providers.gcp.client import Compute, Item


def describe(compute: Compute, collection: str, zone: str, name: str) -> Item | None:
    """The present state of an instance or a disk; None when it does not exist."""
    try:
        one = collection.removesuffix("s")
        return compute.call(collection, "get", {"zone": zone, one: name})
    except DiskbenchError as error:
        if is_missing(error):
            return None
        raise
