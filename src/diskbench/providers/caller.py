"""The public address of this machine."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import urllib3

from diskbench.errors import HostUnavailable, InvalidValue
from diskbench.providers.http_proxy import pool_for
from diskbench.providers.networks import LOOPBACK, check_cidr, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.options import RentSpec

URL = "https://checkip.amazonaws.com"
"""Amazon's own service: it answers with the caller's address, in one line."""
_TIMEOUT_S = 5.0
_TRIES = 3


def caller_cidr() -> str:
    """This machine's public address as a network of one address; behind a proxy that of the proxy.
    Raises HostUnavailable."""
    advice = "name the network from which SSH is allowed: --ssh-cidr 203.0.113.7/32"
    try:
        answer = pool_for(URL).request("GET", URL, timeout=_TIMEOUT_S, retries=_TRIES)
        return str(ipaddress.ip_network(answer.data.decode("ascii").strip()))
    except urllib3.exceptions.HTTPError as error:
        raise HostUnavailable(f"no answer from {URL}: {error}", advice=advice) from error
    except ValueError as error:
        raise HostUnavailable(f"{URL} gave no address: {error}", advice=advice) from error


def ssh_cidr(spec: RentSpec, private: str | None, ask_caller: Callable[[], str]) -> str | None:
    """The network from which SSH is admitted; None where the user's own group or rules decide.
    `private` is the endpoint of a private cloud, which may see this machine at another address.

    Raises InvalidValue where the user must give the network, and whatever `ask_caller` raises.
    """
    if spec.security_group is not None:
        return None
    if spec.ssh_cidr is not None:
        return check_cidr(spec.ssh_cidr)
    if private is None:
        return check_cidr(ask_caller())
    if is_loopback(private):
        return LOOPBACK
    raise InvalidValue(
        f"the network from which SSH is allowed is not known at {private}", advice="add --ssh-cidr"
    )
