"""Every fault that vSphere declares for a call of ours, and what comes of it.

The faults are those that VMware's API declares for each method (pyVmomi's description of it), with
all kinds of each, and the runtime faults, which any method can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.rigs.error_codes import table
from tests.rigs.golden import Golden

from diskbench.errors import DiskbenchError
from diskbench.providers.vsphere.errors import of_fault

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
