"""Timeouts for Azure. All are our choice, from Azure's usual times."""

from __future__ import annotations

from dataclasses import dataclass

from diskbench.providers.waits import CloudTiming


@dataclass(frozen=True)
class AzureTiming(CloudTiming):
    """Seconds, as CloudTiming. A Retry-After in Azure's answer takes precedence."""

    network_s: float = 300.0
    machine_s: float = 900.0
    disk_s: float = 300.0
    attach_s: float = 300.0
    delete_s: float = 1800.0
    settle_s: float = 30.0
    """How long a listing may lag behind what was made or deleted."""
    young_s: float = 900.0
    """The age of a lease, by its id, up to which something of it may have been made just now."""
