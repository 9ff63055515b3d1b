"""How SSH reaches the guests: an OpenSSH configuration, as a user behind a bastion has one.

A lab host's sshd is on port 22 of its own loopback address, or on 2222 where this machine's own
sshd has 22 on all addresses; nothing but this file tells that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reach:
    """One guest: the addresses that its cloud tells of it, and where its sshd is."""

    told: tuple[str, ...]
    address: str
    port: int


def write_ssh_config(path: Path, guests: Mapping[str, Reach]) -> None:
    """Write the configuration of these guests, all at once."""
    blocks = [
        f"# {name}\nHost {told}\n  HostName {reach.address}\n  Port {reach.port}\n"
        # Whoever verifies the host looks its key up by the address that the cloud told.
        f"  HostKeyAlias {told}\n"
        for name, reach in sorted(guests.items())
        for told in reach.told
    ]
    new = path.with_suffix(".new")
    new.write_text("\n".join(blocks), "utf-8")
    new.replace(path)
