"""Timeouts for Google Cloud. All are our choice, from Compute Engine's usual times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from diskbench.providers.patience import ANSWER_S, CloudTiming


@dataclass(frozen=True)
class GceTiming(CloudTiming):
    """Seconds, as CloudTiming; `call_s` limits one call."""

    first_poll_s: float = 0.5
    call_s: float = ANSWER_S
    instance_s: float = 600.0
    disk_s: float = 300.0
    attach_s: float = 180.0
    firewall_s: float = 180.0
    metal_s: float = 1800.0
    """The same as `instance_s` and `ssh_s`, each, of a machine without a hypervisor: its firmware
    alone takes longer than ten minutes."""

    def of_machine(self, machine_type: str) -> Self:
        """The timeouts for a machine of that type."""
        if not machine_type.endswith("-metal"):
            return self
        longest = max(self.instance_s, self.metal_s)
        return replace(self, instance_s=longest, ssh_s=max(self.ssh_s, self.metal_s))
