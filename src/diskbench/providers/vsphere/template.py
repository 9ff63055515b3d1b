"""The operator's template: lookup by name, and its hardware."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue
from diskbench.providers.vsphere.inventory import named_or_only
from diskbench.providers.vsphere.resolved import Template
from diskbench.providers.vsphere.sdk import sdk

if TYPE_CHECKING:
    from diskbench.providers.vsphere.client import Item, Ref, Vsphere

_PATHS = ("name", "config.template", "config.guestFullName", "config.version")


def find_template(vsphere: Vsphere, root: Ref, typed: str | None) -> Template:
    """The named template, or the only one. Raises UnknownName or InvalidValue."""
    machines = vsphere.listed("VirtualMachine", _PATHS, root)
    templates = [item for item in machines if item.values.get("config.template")]
    plain = {item.name for item in machines} - {item.name for item in templates}
    if typed in plain:
        raise InvalidValue(
            f"{typed} is a machine, not a template",
            advice="choose a template, or make it one in vCenter: Template > Convert to Template",
        )
    return _described(vsphere, named_or_only("template", templates, typed))


def _described(vsphere: Vsphere, item: Item) -> Template:
    vim = sdk("vim")

    hardware = vsphere.properties(item.ref, ("config.hardware.device",))
    devices = (hardware.values.get("config.hardware.device") if hardware else None) or ()
    device = vim.vm.device
    cards = [item.key for item in devices if isinstance(item, device.VirtualEthernetCard)]
    return Template(
        id=item.id,
        name=item.name,
        guest=item.values.get("config.guestFullName"),
        hardware=item.values.get("config.version"),
        size_bytes=sum(
            int(item.capacityInBytes or item.capacityInKB * 1024)
            for item in devices
            if isinstance(item, device.VirtualDisk)
        ),
        buses=_buses(item for item in devices if isinstance(item, device.VirtualSCSIController)),
        nvme_buses=_buses(
            item for item in devices if isinstance(item, device.VirtualNVMEController)
        ),
        network_card=cards[0] if cards else None,
    )


def hardware_version(template: Template) -> int | None:
    """The hardware version: 13 for `vmx-13`; None where unknown."""
    match = re.fullmatch(r"vmx-(\d+)", template.hardware or "")
    return int(match.group(1)) if match else None


def _buses(controllers: object) -> tuple[int, ...]:
    return tuple(sorted(int(controller.busNumber) for controller in controllers))  # type: ignore[attr-defined]
