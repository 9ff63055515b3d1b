"""What tests do with an emulated vSphere, by plain pyVmomi."""

import time

from emulators.vsphere.listing import machines, operator


def listed(vsphere):
    """Every machine but the template and the neighbour's."""
    with operator(vsphere.endpoint, str(vsphere.simulator.ca_file)) as content:
        return machines(content)


def clone(vsphere, name, notes):
    """Make a machine of the template, with these notes."""
    from pyVmomi import vim

    below = True
    with operator(vsphere.endpoint, str(vsphere.simulator.ca_file)) as known:
        found = {
            kind: known.viewManager.CreateContainerView(known.rootFolder, [kind], below).view
            for kind in (vim.VirtualMachine, vim.ResourcePool)
        }
        template = next(vm for vm in found[vim.VirtualMachine] if vm.name == "debian-12")
        place = vim.vm.RelocateSpec(pool=found[vim.ResourcePool][0])
        config = vim.vm.ConfigSpec(annotation=notes)
        spec = vim.vm.CloneSpec(location=place, powerOn=False, template=False, config=config)
        done(template.CloneVM_Task(folder=template.parent, name=name, spec=spec))


def done(task):
    """What a task gives when it has ended well."""
    deadline = time.monotonic() + 240
    while task.info.state not in ("success", "error"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert task.info.state == "success", task.info.error
    return task.info.result
