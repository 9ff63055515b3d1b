"""Timeouts for every cloud. All are our choice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

CONNECT_S = 10
"""Seconds that a cloud may take to accept a connection."""
ANSWER_S = 60
"""Seconds that it may take to answer a call, which then counts as lost and is repeated."""
_OF_A_START = ("instance_s", "checks_s", "ssh_s", "ready_s")
"""Times of a machine's start, of CloudTiming and of single clouds."""


@dataclass(frozen=True)
class CloudTiming:
    """Seconds: the polling intervals, and the time after which each step counts as stuck; times of
    a single cloud are in that cloud's own class.

    `retry_s` is how long throttled or unanswered calls are repeated, and `look_s` the same while
    nothing is rented yet; `first_retry_s` is the first wait between two attempts, doubled each
    time up to `max_retry_s`, with jitter.
    """

    first_poll_s: float = 1.0
    max_poll_s: float = 5.0
    appear_s: float = 120.0
    ssh_s: float = 600.0
    metal_s: float = 2400.0
    """Each step of the start of bare metal, whose firmware checks all hardware first: up to 20
    minutes after it is running (Amazon EC2 User Guide, "Bare metal instances", 2026), twice that
    here; canonical/pycloudlib pull request 192 (2022-05-03) waits as long."""
    ready_s: float = 900.0
    delete_s: float = 900.0
    retry_s: float = 180.0
    look_s: float = 15.0
    first_retry_s: float = 0.5
    max_retry_s: float = 20.0
    nap_s: float = 0.5
    """The longest sleep without checking for a stop."""

    def for_bare_metal(self) -> Self:
        """The timeouts for a machine without a hypervisor."""
        longer = (name for name in _OF_A_START if hasattr(self, name))
        return replace(self, **{name: max(getattr(self, name), self.metal_s) for name in longer})

    def for_reading(self) -> Self:
        """The timeouts of read-only commands: a person waits for the answer."""
        return replace(self, retry_s=self.look_s)
