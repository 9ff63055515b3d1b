"""How long Azure is waited for. All of it is our choice, from what Azure usually takes."""

from __future__ import annotations

from dataclasses import dataclass

from diskbench.providers.patience import CloudTiming


@dataclass(frozen=True)
class AzureTiming(CloudTiming):
    """Seconds, as CloudTiming. Where an answer of Azure's says when to come again (Retry-After),
    that is when."""

    network_s: float = 300.0
    machine_s: float = 900.0
    disk_s: float = 300.0
    attach_s: float = 300.0
    delete_s: float = 1800.0
