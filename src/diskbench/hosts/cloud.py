"""The cloud that a guest reports to run in, from its firmware strings and cloud-init: pure."""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

from diskbench.hosts.disk_facts import key_values
from diskbench.model.facts import CloudFacts
from diskbench.plugins import plugins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.plugin import GuestIdentity

_OTHERS = (
    ("DigitalOcean", "digitalocean"),
    ("Hetzner", "hetzner"),
    ("OpenStack", "openstack"),
    ("Alibaba", "alibaba"),
)
"""Firmware strings of clouds for which there is no provider here, and the names of the clouds."""


def cloud_facts(by_section: dict[str, list[str]]) -> CloudFacts:
    """Vendor and product from firmware; instance type, zone and id where cloud-init has them.

    `verified` stays False, because any hypervisor can write these strings.
    """
    dmi = key_values(by_section.get("dmi", []))
    meta = _cloud_init(by_section.get("cloudinit", []))
    v1 = _mapping(meta.get("v1"))
    data = _mapping(_mapping(meta.get("ds")).get("meta_data"))
    return CloudFacts(
        vendor=cloud_vendor(dmi) or _text(v1.get("cloud_name")) or dmi.get("sys_vendor") or None,
        product=dmi.get("product_name") or None,
        instance_type=_instance_type(dmi, data),
        zone=_text(v1.get("availability_zone")) or _text(v1.get("region")),
        instance_id=_text(v1.get("instance_id")),
    )


def cloud_vendor(dmi: Mapping[str, str]) -> str | None:
    """The provider or the cloud that the firmware names, by the strings that ds-identify of
    cloud-init uses; None where it names none."""
    for plugin in plugins():
        if plugin.guest is not None and _is_named(plugin.guest, dmi):
            return plugin.name
    strings = dmi.get("sys_vendor", ""), dmi.get("product_name", "")
    for word, name in _OTHERS:
        if any(word in text for text in strings):
            return name
    if "OracleCloud" in dmi.get("chassis_asset_tag", ""):
        return "oracle"
    return None


def _is_named(guest: GuestIdentity, dmi: Mapping[str, str]) -> bool:
    """Whether the firmware strings match those of a provider's guests."""
    return any(
        all(re.search(pattern, dmi.get(field, "")) for field, pattern in marks.items())
        for marks in guest.firmware
    )


def _instance_type(dmi: Mapping[str, str], data: dict[str, Any]) -> str | None:
    """The instance type from cloud-init, else the product name where the provider writes it so."""
    named = _text(data.get("instance-type")) or _text(data.get("instance_type"))
    compute = _mapping(_mapping(data.get("imds")).get("compute"))
    named = named or _text(compute.get("vmSize"))
    product = dmi.get("product_name", "")
    if named is None and "." in product and _type_is_product(dmi):
        return product
    return named.rpartition("/")[2] if named else None


def _type_is_product(dmi: Mapping[str, str]) -> bool:
    guests = (plugin.guest for plugin in plugins() if plugin.guest is not None)
    return any(guest.type_in_product and _is_named(guest, dmi) for guest in guests)


def _cloud_init(lines: list[str]) -> dict[str, Any]:
    with contextlib.suppress(ValueError, RecursionError):
        return _mapping(json.loads("\n".join(lines)))
    return {}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
