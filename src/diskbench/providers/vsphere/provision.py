"""Making the machine: clone it from the template or find it by its lease, and switch it on."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from diskbench.errors import DiskbenchError
from diskbench.model.rental import Which
from diskbench.providers.cloud_init import user_data
from diskbench.providers.skeleton import provision as skeleton
from diskbench.providers.vsphere import requests
from diskbench.providers.vsphere.client import Item, Ref, Vsphere, VsphereTiming, moid, reference
from diskbench.providers.vsphere.disk_request import VsphereResolved
from diskbench.providers.vsphere.errors import fault_name, refused, vim
from diskbench.providers.vsphere.inventory import attribute_keys, machines, marked
from diskbench.providers.vsphere.requests import machine_name
from diskbench.providers.waits import Still

GUEST_USER = "diskbench"
"""The login user: cloud-init makes it in place of the template's own."""
DEVICES = "config.hardware.device"


@dataclass(frozen=True, kw_only=True)
class VsphereOrder(skeleton.Order):
    """The vSphere resources to make; `vsphere` is a session."""

    details: VsphereResolved
    timing: VsphereTiming
    vsphere: Vsphere


def provision(order: VsphereOrder) -> Ref:
    """Make or find the lease's machine and switch it on. Raises NoCapacity, or RentalFailed with
    the reason."""
    vm = existing(order) or _clone(order)
    # A read just after its creation may not know the machine yet.
    hidden, paths = Still("vSphere does not show it (yet)"), ("runtime.powerState",)
    order.until(
        lambda: order.vsphere.properties(vm, paths) or hidden,
        f"machine {moid(vm)}", order.timing.appear_s,
    )  # fmt: skip
    # The user's tags are custom attributes: no call that clones a machine takes them.
    keys = attribute_keys(order.vsphere, order.claim.tags)
    manager = order.vsphere.content.customFieldsManager
    for name, value in order.claim.tags:
        send = partial(manager.SetField, entity=vm, key=keys[name], value=value)
        order.vsphere.call("CustomFieldsManager.SetField", send)
    _switch_on(order, vm)
    return vm


def read(order: VsphereOrder, vm: Ref, *paths: str) -> Item:
    """The machine with the properties at `paths`. Raises RentalFailed when it is gone."""
    machine = order.vsphere.properties(vm, paths)
    if machine is None:
        raise refused("machine gone", id=moid(vm))
    return machine


def device_list(order: VsphereOrder, vm: Ref) -> tuple[Any, ...]:
    """The machine's virtual hardware. Raises RentalFailed when the machine is gone."""
    return tuple(read(order, vm, DEVICES).values.get(DEVICES) or ())


def alive(order: VsphereOrder, vm: Ref) -> Still | None:
    """The machine's present obstacle, if any. Raises RentalFailed when it is off or gone."""
    machine = read(order, vm, "runtime.powerState", "runtime.connectionState")
    state = str(machine.values.get("runtime.powerState"))
    if state != "poweredOn":
        raise refused("machine off", id=moid(vm), state=state)
    connection = str(machine.values.get("runtime.connectionState", "connected"))
    return None if connection == "connected" else Still(f"vCenter says it is {connection}")


def existing(order: VsphereOrder) -> Ref | None:
    """The machine of the lease; None where there is none."""
    listed = machines(order.vsphere, Which(order.lease))
    name = machine_name(order.lease)
    return next((machine.item.ref for machine in listed if machine.name == name), None)


def _clone(order: VsphereOrder) -> Ref:
    details, vsphere = order.details, order.vsphere
    name = machine_name(order.lease)
    template = reference(vsphere, "VirtualMachine", details.template.id)
    folder = reference(vsphere, "Folder", details.folder.id)
    guest, references = user_data(order.guest(GUEST_USER)), _references(order, template)
    spec = requests.clone(order.claim, details, guest, order.lab, references)
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
    return made or order.until(lambda: _ours(order, name), f"machine {name}", order.timing.clone_s)


def _ours(order: VsphereOrder, name: str) -> Ref | Still:
    """The machine of that name, if it carries our lease."""
    for item in order.vsphere.listed("VirtualMachine", ("name", "config.annotation")):
        found = marked(item)
        if item.name == name and found is not None and found.lease_id == order.lease:
            return item.ref
    return Still("being cloned by another")


def _references(order: VsphereOrder, template: Ref) -> dict[str, Any]:
    details, vsphere = order.details, order.vsphere
    references = {
        "pool": reference(vsphere, "ResourcePool", details.pool.id),
        "datastore": reference(vsphere, "Datastore", details.datastore.id),
    }
    if details.host is not None:
        references["host"] = reference(vsphere, "HostSystem", details.host.id)
    if details.network is not None:
        references["network"] = reference(vsphere, details.network.kind, details.network.id)
        kind = vim.vm.device.VirtualEthernetCard
        cards = [one for one in device_list(order, template) if isinstance(one, kind)]
        if not cards:
            raise refused("card gone", details=details)
        references["card"] = cards[0]
    return references


def _switch_on(order: VsphereOrder, vm: Ref) -> None:
    machine = read(order, vm, "runtime.powerState", "config.vAppConfig")
    if str(machine.values.get("runtime.powerState")) == "poweredOn":
        return
    if machine.values.get("config.vAppConfig") is not None:
        order.watch.note("the template has vApp properties; the machine is made without")
        # With them cloud-init takes its data source OVF and never reads our user data. Not a part
        # of the clone: what a clone's configuration says of vApps was seen ignored (govmomi, issue
        # 2201).
        what, spec = f"vApp properties of {moid(vm)}", vim.vm.ConfigSpec(vAppConfigRemoved=True)
        order.vsphere.reconfigure(vm, "VirtualMachine.Reconfigure", what, spec)
    order.vsphere.switch("VirtualMachine.PowerOn", f"start of {moid(vm)}", vm.PowerOnVM_Task)
    order.watch.note(f"machine {moid(vm)} is on: {order.details.compute.name}")
