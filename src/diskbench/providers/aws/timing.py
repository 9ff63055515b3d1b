"""Timeouts for AWS. All are our choice, from EC2's usual times."""

from __future__ import annotations

from dataclasses import dataclass

from diskbench.providers.waits import CloudTiming


@dataclass(frozen=True)
class AwsTiming(CloudTiming):
    """Seconds, as CloudTiming; `checks_s` is for the status checks of a new machine. `settle_s` is
    how long after the last create the listings are asked again before a lease counts as empty, at
    least `settle_repeats` times: EC2 is eventually consistent."""

    instance_s: float = 600.0
    volume_s: float = 300.0
    attach_s: float = 180.0
    checks_s: float = 900.0
    terminate_s: float = 900.0
    delete_s: float = 300.0
    settle_s: float = 30.0
    settle_repeats: int = 4
