"""Each fault that vSphere declares for a call of ours is one of our errors, with what to do next.

The faults are those that VMware's API declares for each method (pyVmomi's description of it), with
all kinds of each, and the runtime faults, which any method can have."""

import ssl
from xml.parsers.expat import ExpatError, ParserCreate

import pytest
from pyVmomi import vim, vmodl
from tests.rigs.error_codes import table

from diskbench.providers.vsphere.errors import is_missing, of_fault, translate


def page_of_a_proxy():
    """What pyVmomi raises for an answer that is no XML."""
    try:
        ParserCreate().Parse("an internal error")
    except ExpatError as error:
        return error
    raise AssertionError("it was parsed")


def test_what_is_gone_is_known_through_our_error_and_a_mistake_of_ours_is_not_vspheres():
    fault = vmodl.fault.ManagedObjectNotFound()
    error = translate(fault, "Destroy")
    error.__cause__ = fault
    assert is_missing(error)
    with pytest.raises(KeyError):
        translate(KeyError("ours"), "login")


METHODS = (
    ("vim.VirtualMachine", "Clone"), ("vim.VirtualMachine", "Reconfigure"),
    ("vim.VirtualMachine", "PowerOn"), ("vim.VirtualMachine", "PowerOff"),
    ("vim.SessionManager", "Login"), ("vmodl.query.PropertyCollector", "RetrievePropertiesEx"),
    ("vim.Task", "Cancel"),
)  # fmt: skip
ACTION = "VirtualMachine.Clone"
RAISED = {
    "NoPermission: privilege":
        vim.fault.NoPermission(privilegeId="VirtualMachine.Config.AddNewDisk"),
    "NoDiskSpace: datastore": vim.fault.NoDiskSpace(datastore="nvme"),
    "InvalidDeviceSpec: property": vim.fault.InvalidDeviceSpec(property="spec.controllerKey"),
    "InvalidArgument: property": vmodl.fault.InvalidArgument(invalidProperty="spec.memoryMB"),
    "the page of a proxy": page_of_a_proxy(),
    "a certificate that cannot be trusted": ssl.SSLCertVerificationError(1, "self-signed"),
    "silence": ConnectionRefusedError("refused"),
}  # fmt: skip


def faults():
    """The types of all these faults, by name."""
    from pyVmomi import VmomiSupport, vmodl

    declared = {vmodl.RuntimeFault}
    for owner, method in METHODS:
        told = VmomiSupport.GetVmodlType(owner)._GetMethodInfo(method)
        declared |= {VmomiSupport.GetVmodlType(name) for name in told.faults or ()}
    kinds = ("vim.fault.", "vmodl.fault.", "vmodl.query.")
    known = {name for name in VmomiSupport._dataDefMap if name.startswith(kinds)}
    types = {VmomiSupport.GetVmodlType(name) for name in known} | declared
    found = {one for one in types if issubclass(one, tuple(declared))}
    return sorted(found, key=lambda one: str(one._wsdlName))


def rows():
    for kind in faults():
        yield str(kind._wsdlName), of_fault(kind(msg="SAID"), ACTION)
    for name, raised in RAISED.items():
        yield name, translate(raised, ACTION)


def test_what_comes_of_each_declared_fault(golden):
    golden.check("error-codes-vsphere.txt", table(rows()))
