"""How long vSphere is waited for. All of it is our choice, from what vCenter usually takes."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class VsphereTiming:
    """Seconds: how often vCenter is asked, and how long each thing may take before it counts as
    stuck.

    `disk_s` and `disk_s_per_gib` are for making a disk, which eager zeroing writes in full.
    `retry_s` is how long calls that fail on the way are repeated, `look_s` the same while nothing
    is made yet; `first_retry_s` is the first wait between two, doubled up to `max_retry_s`, with
    jitter.
    """

    first_poll_s: float = 0.5
    max_poll_s: float = 5.0
    clone_s: float = 3600.0
    power_s: float = 300.0
    address_s: float = 900.0
    disk_s: float = 600.0
    disk_s_per_gib: float = 60.0
    appear_s: float = 120.0
    ssh_s: float = 600.0
    ready_s: float = 900.0
    delete_s: float = 900.0
    retry_s: float = 180.0
    look_s: float = 15.0
    first_retry_s: float = 0.5
    max_retry_s: float = 20.0
    nap_s: float = 0.5
    """The longest sleep without asking whether to stop."""

    def looking(self) -> VsphereTiming:
        """The patience of whoever only looks: a person waits for the answer."""
        return replace(self, retry_s=self.look_s)
