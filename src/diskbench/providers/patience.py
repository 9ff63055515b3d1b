"""Timeouts for every cloud. All are our choice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

CONNECT_S = 10
"""Seconds that a cloud may take to accept a connection."""
ANSWER_S = 60
"""Seconds that it may take to answer a call, which then counts as lost and is repeated."""


@dataclass(frozen=True)
class CloudTiming:
    """Seconds: how often a cloud is asked, and how long each thing may take before it counts as
    stuck; what only one cloud has stands in its own timing.

    `retry_s` is how long calls that are throttled, or that fail on the way, are repeated, and
    `look_s` the same while nothing is rented yet; `first_retry_s` is the first wait between two,
    doubled each time up to `max_retry_s`, with jitter.
    """

    first_poll_s: float = 1.0
    max_poll_s: float = 5.0
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

    def looking(self) -> Self:
        """The patience of whoever only looks: a person waits for the answer."""
        return replace(self, retry_s=self.look_s)
