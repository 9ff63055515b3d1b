"""Networks and endpoints that the user gives: an option and checks, pure."""

from __future__ import annotations

import ipaddress
from typing import ClassVar
from urllib.parse import urlsplit

from diskbench.errors import InvalidValue
from diskbench.model.options import Options, option


class NetworkOptions(Options):
    """How a rented machine is reached: by default at a public address of its own; without one,
    from a worker in its network or through a jump host (docs/renting.md)."""

    group: ClassVar[str] = "network"
    panel: ClassVar[str] = "Network"

    no_public_ip: bool = option(
        default=False,
        about="Rent the machine without a public address: reach it from inside its network.",
        in_key="no",
    )


LOOPBACK = "127.0.0.0/8"
"""The network from which the guests of an emulator on this machine are reached."""


def check_cidr(text: str) -> str:
    """Return `text` if it is a network or an address; raises InvalidValue otherwise."""
    try:
        return str(ipaddress.ip_network(text))
    except ValueError as error:
        raise InvalidValue(
            f"{text!r} is not a network: {error}",
            advice="it looks like 203.0.113.7/32",
            field="ssh_cidr",
        ) from None


def is_loopback(url: str) -> bool:
    """Whether an endpoint is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
