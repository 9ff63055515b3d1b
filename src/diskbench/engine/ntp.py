"""Whether the clock of this machine is synchronised, according to the Linux kernel."""

from __future__ import annotations

import ctypes
import sys

_TIMEX_BYTES = 208
"""sizeof(struct timex) on 64-bit Linux (linux/timex.h); a larger buffer serves the others."""
_TIME_ERROR = 5
"""What adjtimex(2) returns for a clock that is not synchronised."""


def is_synchronised() -> bool | None:
    """The state that the time daemon (timesyncd, chronyd, ntpd) set in the kernel; None where the
    kernel does not say, for example in a container without the right to ask."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(2 * _TIMEX_BYTES)  # modes = 0: nothing is changed
    state = int(libc.adjtimex(buffer))
    return None if state < 0 else state != _TIME_ERROR
