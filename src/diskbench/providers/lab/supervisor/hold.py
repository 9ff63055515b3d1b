"""When a limit is told to the kernel: each time it begins a new slice, and lets through a little
more than the limit. So ripples are not followed, and a limit that comes to rest is told exactly.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field

from diskbench.providers.lab.throttle import Limits

RIPPLE = 0.08
"""Changes by less wait until they have come to rest; our choice."""
AT_REST = 3
"""So many ticks with the same limit are rest; our choice."""


@dataclass
class Hold:
    """What the kernel was told of each device, and what it would be told since."""

    _told: dict[str, Limits] = field(default_factory=dict)
    _wanted: dict[str, tuple[Limits, int]] = field(default_factory=dict)

    def due(self, kernel: str, wanted: Limits) -> bool:
        """Is it time to tell the kernel `wanted`? To be asked once a tick."""
        before, ticks = self._wanted.get(kernel, (None, 0))
        ticks = ticks + 1 if before == wanted else 1
        self._wanted[kernel] = (wanted, ticks)
        told = self._told.get(kernel)
        if told is None or told == wanted:
            return told is None
        return ticks >= AT_REST or _differs(wanted, told)

    def told(self, kernel: str, limits: Limits) -> None:
        """The kernel was told."""
        self._told[kernel] = limits


def _differs(wanted: Limits, told: Limits) -> bool:
    return any(
        (new is None) != (old is None)
        or (new is not None and old is not None and abs(new - old) > RIPPLE * old)
        for new, old in zip(astuple(wanted), astuple(told), strict=True)
    )
