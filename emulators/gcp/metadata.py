"""What a guest takes from its metadata at first boot: host key, user, keys. Pure.

Compute Engine, "Add SSH keys to VMs": `ssh-keys` holds a line `USER:KEY` for each; the guest agent
ignores them where `enable-oslogin` is TRUE. cloud-init reads `user-data`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulators.gcp.call import Refusal, invalid
from emulators.gcp.images import Image
from emulators.user_data import made_host_key, read_user_data

MAX_VALUE, MAX_ALL = 256 * 1024, 512 * 1024
"""Bytes: descriptions of `items` and `value` in the discovery document."""

_SSH_KEY = re.compile(r"([a-z_][a-z0-9_-]*):((?:ssh|ecdsa)-\S+ \S+.*)")


@dataclass(frozen=True)
class FirstBoot:
    """Who may log in with which keys, and the host's private key; what arms its dead-man's
    switch."""

    user: str
    host_key: str
    authorized_keys: tuple[str, ...]
    switch: str = ""


def items(metadata: Mapping[str, Any], where: str = "resource.metadata") -> dict[str, str]:
    """The entries by key. Raises Refusal for a key that comes twice, or too much text."""
    found: dict[str, str] = {}
    for one in metadata.get("items", ()):
        key, value = one["key"], one.get("value", "")
        if key in found:
            raise invalid(f"{where}.items.key", key, "Duplicate metadata key.")
        if len(value.encode()) > MAX_VALUE:
            message = f"Value for field '{where}.items.value' is too large: maximum size 262144."
            raise Refusal(400, "fieldSizeTooLarge", message)
        found[key] = value
    if sum(len(key.encode()) + len(value.encode()) for key, value in found.items()) > MAX_ALL:
        raise Refusal(400, "fieldSizeTooLarge", f"'{where}' is larger than {MAX_ALL} bytes.")
    return found


def first_boot(given: Mapping[str, str], common: Mapping[str, str], image: Image) -> FirstBoot:
    """What such an image makes of its metadata; the project's is `common`."""
    merged = {**common, **given}
    told = read_user_data(given.get("user-data", "") if image.cloud_init else "")
    by_agent = [] if merged.get("enable-oslogin", "").upper() == "TRUE" else _ssh_keys(given)
    default = told.user or image.user
    user = next((name for name, _ in by_agent), default) or "root"
    keys = [key for name, key in by_agent if name == user]
    if user == default:
        keys += told.authorized_keys
    host_key = told.host_key or made_host_key()
    return FirstBoot(user, host_key, tuple(dict.fromkeys(keys)), told.switch)


def _ssh_keys(given: Mapping[str, str]) -> list[tuple[str, str]]:
    lines = given.get("ssh-keys", "").splitlines()
    read = (_SSH_KEY.fullmatch(line.strip()) for line in lines)
    return [(one[1], one[2]) for one in read if one]
