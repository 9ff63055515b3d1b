"""How long a machine without a hypervisor is waited for."""

from __future__ import annotations

import dataclasses

import pytest

from diskbench.providers.aws.client import AwsTiming
from diskbench.providers.gcp.client import GceTiming
from diskbench.providers.gcp.disk_request import GcpMachine


@pytest.mark.parametrize("usual", [AwsTiming(), GceTiming()], ids=["aws", "gcp"])
def test_it_is_waited_for_longer(usual: AwsTiming | GceTiming) -> None:
    metal = usual.for_bare_metal()
    assert metal.instance_s == metal.ssh_s == metal.ready_s == usual.metal_s > usual.ssh_s
    assert dataclasses.replace(usual, ssh_s=9000.0).for_bare_metal().ssh_s == 9000.0
    assert metal.delete_s == usual.delete_s


@pytest.mark.parametrize(
    ("name", "is_metal"), [("c3-standard-192-metal", True), ("c3-standard-8", False)]
)
def test_googles_names_tell_it(name: str, is_metal: bool) -> None:
    machine = GcpMachine(type=name, arch="x86_64", vcpus=4, memory_bytes=1, max_disks=1)
    assert machine.bare_metal is is_metal
