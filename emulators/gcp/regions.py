"""Where the emulated Compute Engine sells, and what is there from the start. Pure."""

from __future__ import annotations

import hashlib
from typing import Any

from emulators.gcp.links import last, link

REGIONS = {
    "us-central1": ("us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f"),
    "us-east1": ("us-east1-b", "us-east1-c", "us-east1-d"),
    "europe-west1": ("europe-west1-b", "europe-west1-c", "europe-west1-d"),
}
ZONES = {zone: region for region, zones in REGIONS.items() for zone in zones}
OLD = "us-central1-f"
"""Our own choice: a zone without the newer machines and disks."""
CREATED = "2024-01-01T00:00:00.000+00:00"
DEFAULT_NETWORK = "default"


def fixed_id(path: str) -> str:
    """The id of what is there from the beginning."""
    return str(int(hashlib.sha256(path.encode()).hexdigest()[:15], 16))


def fixed(kind: str, path: str, **more: Any) -> dict[str, Any]:
    """What every such resource has."""
    told = {"kind": f"compute#{kind}", "id": fixed_id(path), "name": last(path)}
    return told | {"selfLink": link(path), "creationTimestamp": CREATED} | more
