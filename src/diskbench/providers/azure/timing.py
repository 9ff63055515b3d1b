"""How long Azure is waited for. All of it is our choice, from what Azure usually takes."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class AzureTiming:
    """Seconds: how often Azure is asked, and how long each thing may take before it counts as
    stuck. Where an answer of Azure's says when to come again (Retry-After), that is when.

    `retry_s` is how long calls that Azure throttles, or that fail on the way, are repeated, and
    `look_s` the same while nothing is rented yet; `first_retry_s` is the first wait between two,
    doubled each time up to `max_retry_s`, with jitter.
    """

    first_poll_s: float = 1.0
    max_poll_s: float = 5.0
    network_s: float = 300.0
    machine_s: float = 900.0
    disk_s: float = 300.0
    attach_s: float = 300.0
    appear_s: float = 120.0
    ssh_s: float = 600.0
    ready_s: float = 900.0
    delete_s: float = 1800.0
    retry_s: float = 180.0
    look_s: float = 15.0
    first_retry_s: float = 0.5
    max_retry_s: float = 20.0
    nap_s: float = 0.5
    """The longest sleep without asking whether to stop."""

    def looking(self) -> AzureTiming:
        """The patience of whoever only looks: a person waits for the answer."""
        return replace(self, retry_s=self.look_s)
