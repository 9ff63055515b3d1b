"""Timeouts for vSphere. All are our choice, from vCenter's usual times."""

from __future__ import annotations

from dataclasses import dataclass

from diskbench.providers.waits import CloudTiming


@dataclass(frozen=True)
class VsphereTiming(CloudTiming):
    """Seconds, as CloudTiming; `disk_s` and `disk_s_per_gib` are for making a disk, which eager
    zeroing writes in full."""

    first_poll_s: float = 0.5
    clone_s: float = 3600.0
    power_s: float = 300.0
    address_s: float = 900.0
    disk_s: float = 600.0
    disk_s_per_gib: float = 60.0
