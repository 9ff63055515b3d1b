"""When to write a limit to the kernel: at each write the kernel begins a new slice and admits
slightly more than the limit. So ripples are not written, and a settled limit is written exactly.
A request that is larger than what a second allows (mkfs zeroes up to 4 GiB at once) waits for
its slice to grow: a new one every second would keep it waiting for ever.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, field

from diskbench.providers.lab.throttle import ThrottleLimits

RIPPLE = 0.08
"""Smaller changes are written only when the limit has settled; our choice."""
JUMP = 0.3
"""Larger changes are written at once, others at most once in PAUSE ticks; our choice."""
PAUSE = 30
AT_REST = 3
"""A limit has settled after this many equal ticks; our choice."""


@dataclass
class Hold:
    """The limits written for each device, and the newest ones with the number of ticks for which
    they have been the same."""

    _written: dict[str, ThrottleLimits] = field(default_factory=dict)
    _since: dict[str, int] = field(default_factory=dict)
    _latest: dict[str, tuple[ThrottleLimits, int]] = field(default_factory=dict)

    def due(self, kernel: str, limits: ThrottleLimits, *, moved: bool = True) -> bool:
        """Whether to write `limits` to the kernel now; call once per tick. `moved` is whether
        the device did any I/O since the last tick."""
        before, ticks = self._latest.get(kernel, (None, 0))
        ticks = ticks + 1 if before == limits else 1
        self._latest[kernel] = (limits, ticks)
        written = self._written.get(kernel)
        if written is None or written == limits:
            return written is None
        since = self._since[kernel] = self._since.get(kernel, 0) + 1
        if not moved and _change(limits, written) <= JUMP:
            return False
        if ticks >= AT_REST or _change(limits, written) > JUMP:
            return True
        return since > PAUSE and _change(limits, written) > RIPPLE

    def note_written(self, kernel: str, limits: ThrottleLimits) -> None:
        """Record that the limits were written."""
        self._written[kernel] = limits
        self._since[kernel] = 0


def _change(limits: ThrottleLimits, written: ThrottleLimits) -> float:
    """The largest relative change of any limit; infinite where a limit appears or disappears."""
    pairs = zip(astuple(limits), astuple(written), strict=True)
    return max(_relative(new, old) for new, old in pairs)


def _relative(new: int | None, old: int | None) -> float:
    if new is None or old is None:
        return 0.0 if new is old else math.inf
    return abs(new - old) / old
