"""Timeouts for Google Cloud. All are our choice, from Compute Engine's usual times."""

from __future__ import annotations

from dataclasses import dataclass

from diskbench.providers.waits import ANSWER_S, CloudTiming


@dataclass(frozen=True)
class GceTiming(CloudTiming):
    """Seconds, as CloudTiming; `call_s` limits one call."""

    first_poll_s: float = 0.5
    call_s: float = ANSWER_S
    instance_s: float = 600.0
    disk_s: float = 300.0
    attach_s: float = 180.0
    firewall_s: float = 180.0
