"""Where the emulated Compute Engine sells, what is there at the start, and how resources are named:
by full and partial URLs, as Compute takes and gives them. Pure."""

import hashlib
import re
from datetime import UTC, datetime
from typing import Any

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
BASE = "https://www.googleapis.com/compute/v1/"
_FULL = re.compile(r"https://(?:www|compute)\.googleapis\.com/compute/v1/(projects/.+)")


def below(scope: str) -> str:
    """The part of a path that names a zone or a region."""
    return f"{'regions' if scope in REGIONS else 'zones'}/{scope}"


def link(path: str) -> str:
    """The self link of the resource with that path."""
    return BASE + path


def path_of(reference: str, project: str) -> str | None:
    """`projects/…` of a full or partial URL; None for what is neither."""
    if found := _FULL.fullmatch(reference):
        return found[1]
    if reference.startswith("projects/"):
        return reference
    if re.match(r"(?:zones|regions|global)/", reference):
        return f"projects/{project}/{reference}"
    return None


def last(reference: str) -> str:
    """The name at the end of a reference."""
    return reference.rpartition("/")[2]


def rfc3339(at: float) -> str:
    """Seconds since the epoch as the service writes them."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def fixed_id(path: str) -> str:
    """The id of what is there from the beginning."""
    return str(int(hashlib.sha256(path.encode()).hexdigest()[:15], 16))


def fixed(kind: str, path: str, **more: Any) -> dict[str, Any]:
    """What every such resource has."""
    told = {"kind": f"compute#{kind}", "id": fixed_id(path), "name": last(path)}
    return told | {"selfLink": link(path), "creationTimestamp": CREATED} | more
