"""Which cloud a guest says it runs in, from its firmware strings and cloud-init: pure."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from diskbench.hosts.disk_facts import key_values
from diskbench.model.facts import CloudFacts

_AZURE_ASSET_TAG = "7783-7084-3265-9085-8269-3286-77"
"""chassis_asset_tag of every Azure guest (cloud-init's ds-identify)."""


def cloud_facts(told: dict[str, list[str]]) -> CloudFacts:
    """Vendor and product as firmware has them; instance type, zone and id where cloud-init knows.

    A guest's own word: `verified` stays False, because any hypervisor can say so.
    """
    dmi = key_values(told.get("dmi", []))
    meta = _cloud_init(told.get("cloudinit", []))
    v1 = _mapping(meta.get("v1"))
    data = _mapping(_mapping(meta.get("ds")).get("meta_data"))
    return CloudFacts(
        vendor=cloud_vendor(dmi) or _text(v1.get("cloud_name")) or dmi.get("sys_vendor") or None,
        product=dmi.get("product_name") or None,
        instance_type=_instance_type(dmi, data),
        zone=_text(v1.get("availability_zone")) or _text(v1.get("region")),
        instance_id=_text(v1.get("instance_id")),
    )


def cloud_vendor(dmi: dict[str, str]) -> str | None:
    """aws, azure, gcp … by the strings that cloud-init's ds-identify goes by; None if unknown."""
    vendor = dmi.get("sys_vendor", "")
    product = dmi.get("product_name", "")
    if "Amazon EC2" in vendor or "amazon" in dmi.get("bios_vendor", "").lower():
        return "aws"
    if dmi.get("product_version", "").endswith(".amazon"):
        return "aws"
    if dmi.get("chassis_asset_tag") == _AZURE_ASSET_TAG:
        return "azure"
    if vendor == "Google" and "Google" in product:
        return "gcp"
    for word, name in (
        ("VMware", "vsphere"),
        ("DigitalOcean", "digitalocean"),
        ("Hetzner", "hetzner"),
        ("OpenStack", "openstack"),
        ("Alibaba", "alibaba"),
    ):
        if word in vendor or word in product:
            return name
    if "OracleCloud" in dmi.get("chassis_asset_tag", ""):
        return "oracle"
    return None


def _instance_type(dmi: dict[str, str], data: dict[str, Any]) -> str | None:
    """cloud-init's word; on Nitro the product name is the type itself."""
    named = _text(data.get("instance-type")) or _text(data.get("instance_type"))
    compute = _mapping(_mapping(data.get("imds")).get("compute"))
    named = named or _text(compute.get("vmSize"))
    product = dmi.get("product_name", "")
    if named is None and "Amazon EC2" in dmi.get("sys_vendor", "") and "." in product:
        return product
    return named.rpartition("/")[2] if named else None


def _cloud_init(lines: list[str]) -> dict[str, Any]:
    with contextlib.suppress(ValueError, RecursionError):
        return _mapping(json.loads("\n".join(lines)))
    return {}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
