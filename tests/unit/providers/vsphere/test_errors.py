"""Each fault of vSphere's is one of our errors, with what to do next.

Every fault that vSphere declares for a call of ours, and what comes of it.

The faults are those that VMware's API declares for each method (pyVmomi's description of it), with
all kinds of each, and the runtime faults, which any method can have.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

import pytest
from pyVmomi import vim, vmodl
from tests.rigs.error_codes import table
from tests.rigs.golden import Golden

from diskbench.errors import (
    AccessDenied,
    Busy,
    DiskbenchError,
    HostUnavailable,
    InvalidValue,
    LoggedOut,
    NoCapacity,
    RentalFailed,
    Unanswered,
)
from diskbench.providers.vsphere.errors import fault_name, is_missing, of_fault, translate
from diskbench.providers.waits import while_looking


@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        (vim.fault.NoPermission(privilegeId="VirtualMachine.Config.AddNewDisk"),
         AccessDenied, "VirtualMachine.Config.AddNewDisk"),
        (vim.fault.InvalidLogin(msg="Login failure"), AccessDenied, "Login failure"),
        (vim.fault.NotAuthenticated(), LoggedOut, "session"),
        (vim.fault.NoDiskSpace(datastore="nvme"), RentalFailed, "datastore nvme has no free space"),
        (vim.fault.InsufficientResourcesFault(), NoCapacity, "no capacity for the machine"),
        (vim.fault.TaskInProgress(), Busy, "busy"),
        (vim.fault.HostConnectFault(msg="no response"), Unanswered, "no answer"),
        (vim.fault.InvalidDeviceSpec(property="spec.controllerKey"), InvalidValue,
         "spec.controllerKey"),
        (vmodl.fault.InvalidArgument(invalidProperty="spec.memoryMB"), InvalidValue,
         "spec.memoryMB"),
        (vim.fault.VmConfigFault(msg="odd"), RentalFailed, "odd"),
    ],
    ids=lambda value: fault_name(value) if isinstance(value, vmodl.MethodFault) else "",
)  # fmt: skip
def test_a_fault_has_its_class_its_words_and_advice(fault, kind, told):
    error = translate(fault, "VirtualMachine.Clone")
    assert type(error) is kind
    assert told in error.message
    assert error.advice


def test_the_page_of_a_proxy_is_no_answer():
    with pytest.raises(ExpatError) as told:
        ParserCreate().Parse("an internal error")
    error = translate(told.value, "login")
    assert isinstance(error, Unanswered)
    assert "it is not vSphere's" in error.message


def test_a_thing_that_is_gone_is_known_through_our_error():
    fault = vmodl.fault.ManagedObjectNotFound()
    error = translate(fault, "Destroy")
    error.__cause__ = fault
    assert is_missing(error)


def test_a_certificate_that_cannot_be_trusted_is_answered_with_how_it_could():
    error = translate(ssl.SSLCertVerificationError(1, "self-signed"), "login")
    assert type(error) is HostUnavailable
    assert "--ca-file" in error.advice


def test_silence_is_the_users_environment_while_nothing_is_made():
    with pytest.raises(HostUnavailable), while_looking():
        raise translate(ConnectionRefusedError("refused"), "login")


def test_a_mistake_of_ours_is_not_blamed_on_vsphere():
    with pytest.raises(KeyError):
        translate(KeyError("ours"), "login")


METHODS = (
    ("vim.VirtualMachine", "Clone"), ("vim.VirtualMachine", "Reconfigure"),
    ("vim.VirtualMachine", "PowerOn"), ("vim.VirtualMachine", "PowerOff"),
    ("vim.SessionManager", "Login"), ("vmodl.query.PropertyCollector", "RetrievePropertiesEx"),
    ("vim.Task", "Cancel"),
)  # fmt: skip
ACTION = "VirtualMachine.Clone"


def faults() -> list[Any]:
    """The types of all these faults, by name."""
    from pyVmomi import VmomiSupport, vmodl

    declared: set[Any] = {vmodl.RuntimeFault}
    for owner, method in METHODS:
        told = VmomiSupport.GetVmodlType(owner)._GetMethodInfo(method)
        declared |= {VmomiSupport.GetVmodlType(name) for name in told.faults or ()}
    known = [
        name for name in VmomiSupport._dataDefMap
        if name.startswith(("vim.fault.", "vmodl.fault.", "vmodl.query."))
    ]  # fmt: skip
    types = {VmomiSupport.GetVmodlType(name) for name in known} | declared
    found = {one for one in types if issubclass(one, tuple(declared))}
    return sorted(found, key=lambda one: str(one._wsdlName))


def rows() -> Iterator[tuple[str, DiskbenchError]]:
    for kind in faults():
        yield str(kind._wsdlName), of_fault(kind(msg="SAID"), ACTION)


def test_what_comes_of_each_declared_fault(request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue("golden")
    golden.check("error-codes-vsphere.txt", table(rows()))
