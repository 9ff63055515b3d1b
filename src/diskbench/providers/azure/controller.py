"""The disk controller of a machine, SCSI or NVMe: chosen from size and image, and set explicitly.

A size with both controllers, made without `diskControllerType`, gets a default that depends on its
image (azure-mgmt-compute 39.0.0, StorageProfile.disk_controller_type): what is measured, and
whether there is a host cache, would depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.providers.azure.resolved import AzureImage, AzureMachine, Interface
    from diskbench.providers.guest import GuestDisk

NAMES: dict[Interface, str] = {"scsi": "SCSI", "nvme": "NVMe"}
"""As Azure writes them."""


def with_controller(machine: AzureMachine, image: AzureImage) -> AzureMachine:
    """The machine with the controller that size and image share; SCSI where both have both,
    because it has a host cache. Raises InvalidValue where they share none."""
    known = image.controllers or machine.controllers
    shared = [controller for controller in machine.controllers if controller in known]
    if not shared:
        raise InvalidValue(
            f"{machine.size} shows its disks as {_named(machine.controllers)}, and image "
            f"{image.name} has no driver for that: it supports {_named(image.controllers)}",
            advice="choose another --image (ubuntu supports both), or another --instance-type",
            field="image",
        )
    interface: Interface = "scsi" if "scsi" in shared else "nvme"
    settable = image.generation == "V2" or machine.controllers == ("nvme",)
    return machine.model_copy(
        update={"interface": interface, "controller": NAMES[interface] if settable else None}
    )


def seen_interface(guest_disks: Sequence[GuestDisk], reported: str | None, chosen: str) -> str:
    """The controller of the measured disks: as the guest shows them, else as Azure reports it for
    the machine, else as chosen."""
    if guest_disks:
        return "nvme" if all("nvme" in disk.node for disk in guest_disks) else "scsi"
    return reported.lower() if reported else chosen


def _named(interfaces: Sequence[Interface]) -> str:
    return " and ".join(NAMES[interface] for interface in interfaces) or "nothing known"
