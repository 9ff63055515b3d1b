"""Labels, and the fingerprints that guard what is changed in place."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from emulators.gcp.call import invalid

MOST = 64
_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


def checked(labels: Mapping[str, str], where: str) -> dict[str, str]:
    """The labels. Raises Refusal: "Requirements for labels", Compute Engine (lower-case letters,
    digits, dashes and underscores, 63 at most; international letters are not taken here)."""
    if len(labels) > MOST:
        raise invalid(where, len(labels), f"At most {MOST} labels.")
    for key, value in labels.items():
        if not _KEY.fullmatch(key):
            raise invalid(f"{where}.key", key, f"Must be a match of regex '{_KEY.pattern}'")
        if not _VALUE.fullmatch(value):
            raise invalid(f"{where}.value", value, f"Must be a match of regex '{_VALUE.pattern}'")
    return dict(labels)


def fingerprint(value: Any) -> str:
    """Changes whenever the value does."""
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
    return base64.urlsafe_b64encode(digest[:8]).decode()
