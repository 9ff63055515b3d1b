"""AWS's partitions (the public cloud, China, GovCloud, the European sovereign cloud, isolated
ones): their domains, and the regions in names of zones.

Domains and regions are botocore's own (`partitions.json`), so that a new partition needs a newer
SDK and no change here.
"""

from __future__ import annotations

import functools
import re
from typing import Any
from urllib.parse import urlsplit

REGION = r"[a-z]+(?:-[a-z]+)+-\d+"
"""The form of a region's name: `eu-central-1`, `us-gov-west-1`, `eusc-de-east-1`."""
_IN_ZONE = re.compile(rf"({REGION})(?:[a-z]|-[a-z0-9-]+)")


def region_of(zone: str) -> str | None:
    """The region in a zone's name: `us-east-1` of `us-east-1a`, of the Local Zone
    `us-east-1-bos-1a` and of the Wavelength Zone `us-east-1-wl1-bos-wlz-1`; None for a name of
    another form."""
    match = _IN_ZONE.fullmatch(zone)
    return match[1] if match else None


def is_amazon(url: str) -> bool:
    """Whether an endpoint belongs to AWS, in any partition that the SDK knows."""
    host = urlsplit(url).hostname or ""
    return any(host == domain or host.endswith(f".{domain}") for domain in _domains())


@functools.cache
def _domains() -> frozenset[str]:
    outputs = [partition["outputs"] for partition in _partitions()]
    return frozenset(
        str(output[key]) for output in outputs for key in ("dnsSuffix", "dualStackDnsSuffix")
    )


@functools.cache
def _partitions() -> tuple[dict[str, Any], ...]:
    from botocore.loaders import create_loader

    return tuple(create_loader().load_data("partitions")["partitions"])
