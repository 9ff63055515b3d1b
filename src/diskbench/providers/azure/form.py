"""Checks of the form of Azure's names, before any call: pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from diskbench.errors import InvalidValue
from diskbench.providers.asked import NameForm, check_lab, check_names, check_ssh
from diskbench.providers.networks import is_loopback
from diskbench.providers.options import NetworkOptions

if TYPE_CHECKING:
    from diskbench.model.rental import RentSpec

_ID = r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\."
_FORMS = {
    "account": NameForm(
        re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE),
        "it is an id, such as 00000000-0000-0000-0000-000000000000: az account show --query id",
        "--subscription",
    ),
    "region": NameForm(
        re.compile(r"[a-z][a-z0-9]+"),
        "it looks like westeurope: az account list-locations --query [].name",
    ),
    "zone": NameForm(re.compile(r"[0-9]{1,2}"), "zones are numbers, as 1, 2 and 3"),
    "instance_type": NameForm(
        re.compile(r"[A-Z][A-Za-z]*_[A-Za-z0-9_-]+"),
        "it looks like Standard_D4s_v5",
    ),
    "subnet": NameForm(
        re.compile(_ID + r"Network/virtualNetworks/[^/]+/subnets/[^/]+", re.IGNORECASE),
        "give its id: az network vnet subnet show … --query id",
    ),
    "security_group": NameForm(
        re.compile(_ID + r"Network/networkSecurityGroups/[^/]+", re.IGNORECASE),
        "give its id: az network nsg show … --query id",
    ),
    "placement": NameForm(
        re.compile(_ID + r"Compute/proximityPlacementGroups/[^/]+", re.IGNORECASE),
        "give the id of a proximity placement group: az ppg show … --query id",
    ),
}
_CLOUDS = (
    "management.azure.com",
    "management.chinacloudapi.cn",
    "management.usgovcloudapi.net",
)
"""Azure's own resource managers (azure-mgmt-core 1.6, get_arm_endpoints)."""


def check_form(spec: RentSpec) -> None:
    """Refuse values that cannot be Azure names. Raises InvalidValue."""
    check_names(spec, _FORMS, "Azure")
    check_ssh(spec, "a group of yours is")
    if NetworkOptions.of(spec).no_public_ip and spec.subnet is None:
        raise InvalidValue(
            "--no-public-ip without --subnet: the machine could not be reached, because the "
            "network that is made for it has no other members",
            advice="add --subnet with the id of one that this computer or your jump host reaches",
            field="no_public_ip",
        )
    _check_endpoint(spec)


def is_azure(url: str) -> bool:
    """Whether an endpoint belongs to Azure, sovereign clouds and regional endpoints included."""
    host = urlsplit(url).hostname or ""
    return any(host == own or host.endswith(f".{own}") for own in _CLOUDS)


def _check_endpoint(spec: RentSpec) -> None:
    url = spec.endpoint_url
    # A bearer token is as good as a password: the SDK sends none in clear text, not even here.
    if url is not None and (urlsplit(url).scheme != "https" or not urlsplit(url).hostname):
        raise InvalidValue(
            f"--endpoint-url {url!r}: Azure accepts https only",
            advice="use https://HOST:PORT, and name its certificate in REQUESTS_CA_BUNDLE",
            field="endpoint_url",
        )
    emulated = url is not None and is_loopback(url)
    check_lab(spec, emulated=emulated, endpoint="https://127.0.0.1:PORT")
