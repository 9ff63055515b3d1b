"""Making the machine: clone it from the template or find it by its lease, and switch it on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from diskbench.errors import DiskbenchError, RentalFailed
from diskbench.model.rental import Which
from diskbench.providers.cloud_init import user_data
from diskbench.providers.options import EmulationOptions
from diskbench.providers.skeleton import provision as skeleton
from diskbench.providers.vsphere import requests
from diskbench.providers.vsphere.client import Ref, Vsphere, VsphereTiming, moid, reference
from diskbench.providers.vsphere.disk_request import VsphereResolved
from diskbench.providers.vsphere.errors import fault_name, vim
from diskbench.providers.vsphere.inventory import attribute_keys, machines
from diskbench.providers.vsphere.requests import machine_name, mark
from diskbench.providers.waits import Still

GUEST_USER = "diskbench"
"""The login user: cloud-init makes it in place of the template's own."""


@dataclass(frozen=True, kw_only=True)
class VsphereOrder(skeleton.Order[VsphereResolved, VsphereTiming]):
    """The vSphere resources to make; `vsphere` is a session."""

    vsphere: Vsphere

    @property
    def lab(self) -> str:
        """As skeleton.Order: `noise=0.05 time_scale=60.0`."""
        if not self.details.emulated:
            return ""
        emulation = EmulationOptions.of(self.spec)
        values = emulation.model_dump(exclude_defaults=True, exclude={"style", "user"})
        return " ".join(f"{key}={value}" for key, value in values.items())


def provision(order: VsphereOrder) -> Ref:
    """Make or find the lease's machine and switch it on. Raises NoCapacity, or RentalFailed with
    the reason."""
    vm = existing(order) or _clone(order)
    _shown(order, vm)
    _set_attributes(order, vm)
    _switch_on(order, vm)
    return vm


def _shown(order: VsphereOrder, vm: Ref) -> None:
    """Wait until vSphere shows a machine that was made: a read just after its creation may not
    know it yet. Raises RentalFailed."""

    def ask() -> bool | Still:
        machine = order.vsphere.properties(vm, ("runtime.powerState",))
        return Still("vSphere does not show it (yet)") if machine is None else True

    order.until(ask, f"machine {moid(vm)}", order.timing.appear_s)


def device_list(order: VsphereOrder, vm: Ref) -> tuple[Any, ...]:
    """The machine's virtual hardware. Raises RentalFailed when the machine is gone."""
    machine = order.vsphere.properties(vm, ("config.hardware.device",))
    if machine is None:
        raise gone_missing(vm)
    return tuple(machine.values.get("config.hardware.device") or ())


def alive(order: VsphereOrder, vm: Ref) -> Still | None:
    """The machine's present obstacle, if any. Raises RentalFailed when it is off or gone."""
    machine = order.vsphere.properties(vm, ("runtime.powerState", "runtime.connectionState"))
    if machine is None:
        raise gone_missing(vm)
    state = str(machine.values.get("runtime.powerState"))
    if state != "poweredOn":
        raise RentalFailed(
            f"machine {moid(vm)} is {state}",
            advice="another program switched it off: start a new run",
        )
    connection = str(machine.values.get("runtime.connectionState", "connected"))
    return None if connection == "connected" else Still(f"vCenter says it is {connection}")


def gone_missing(vm: Ref) -> RentalFailed:
    """The error for a machine that vSphere no longer knows."""
    return RentalFailed(
        f"machine {moid(vm)} does not exist any more",
        advice="another program removed it: start a new run",
    )


def existing(order: VsphereOrder) -> Ref | None:
    """The machine of the lease; None where there is none."""
    listed = machines(order.vsphere, Which(order.lease))
    name = machine_name(order.lease)
    return next((machine.item.ref for machine in listed if machine.item.name == name), None)


def _clone(order: VsphereOrder) -> Ref:
    details, vsphere = order.details, order.vsphere
    name = machine_name(order.lease)
    template = reference(vsphere, "VirtualMachine", details.template.id)
    folder = reference(vsphere, "Folder", details.folder.id)
    spec = requests.clone(
        order.claim,
        details,
        user_data(order.guest(GUEST_USER)),
        order.lab,
        _references(order, template),
    )
    order.watch.note(f"machine {name} is being cloned from {details.template.name}")
    try:
        made = vsphere.run(
            "VirtualMachine.Clone",
            f"clone of {details.template.name} to {name}",
            lambda: template.CloneVM_Task(folder=folder, name=name, spec=spec),
            order.timing.clone_s,
        )
    except DiskbenchError as error:
        if fault_name(error) != "DuplicateName":
            raise
        made = None
    # An earlier call whose answer was lost, or another process, may have made it.
    return made or order.until(lambda: _named(order, name), f"machine {name}", order.timing.clone_s)


def _named(order: VsphereOrder, name: str) -> Ref | Still:
    """The machine of that name, if it carries our lease."""
    for item in order.vsphere.listed("VirtualMachine", ("name", "config.annotation")):
        if item.name == name:
            marked = mark(item.values.get("config.annotation"))
            if marked is not None and marked.lease_id == order.lease:
                return item.ref
    return Still("being cloned by another")


def _references(order: VsphereOrder, template: Ref) -> dict[str, Any]:
    """The managed objects that a clone needs."""
    details, vsphere = order.details, order.vsphere
    references = {
        "pool": reference(vsphere, "ResourcePool", details.pool.id),
        "datastore": reference(vsphere, "Datastore", details.datastore.id),
    }
    if details.host is not None:
        references["host"] = reference(vsphere, "HostSystem", details.host.id)
    if details.network is not None:
        references["network"] = reference(vsphere, details.network.kind, details.network.id)
        cards = [
            device
            for device in device_list(order, template)
            if isinstance(device, vim.vm.device.VirtualEthernetCard)
        ]
        if not cards:
            raise RentalFailed(
                f"template {details.template.name} has no network card any more",
                advice="another program changed it: start a new run",
            )
        references["card"] = cards[0]
    return references


def _set_attributes(order: VsphereOrder, vm: Ref) -> None:
    """Set the user's tags, as custom attributes: no call that clones a machine takes them."""
    keys = attribute_keys(order.vsphere, order.claim.tags)
    manager = order.vsphere.content.customFieldsManager
    for name, value in order.claim.tags:
        order.vsphere.call(
            "CustomFieldsManager.SetField",
            partial(manager.SetField, entity=vm, key=keys[name], value=value),
        )


def _switch_on(order: VsphereOrder, vm: Ref) -> None:
    machine = order.vsphere.properties(vm, ("runtime.powerState", "config.vAppConfig"))
    if machine is None:
        raise gone_missing(vm)
    if str(machine.values.get("runtime.powerState")) == "poweredOn":
        return
    if machine.values.get("config.vAppConfig") is not None:
        order.watch.note("the template has vApp properties; the machine is made without")
        order.vsphere.run(
            "VirtualMachine.Reconfigure", f"vApp properties of {moid(vm)}",
            lambda: vm.ReconfigVM_Task(spec=requests.without_vapp()), order.timing.disk_s,
        )  # fmt: skip
    try:
        order.vsphere.run(
            "VirtualMachine.PowerOn", f"start of {moid(vm)}", vm.PowerOnVM_Task,
            order.timing.power_s,
        )  # fmt: skip
    except DiskbenchError as error:
        if fault_name(error) != "InvalidPowerState":  # it is on already
            raise
    order.watch.note(f"machine {moid(vm)} is on: {order.details.compute.name}")
