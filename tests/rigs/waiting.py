"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

WAIT_S = 240.0


def until(what: Callable[[], Any], why: str, within_s: float = WAIT_S) -> Any:
    """What `what` returns as soon as that is anything."""
    deadline = time.monotonic() + within_s
    while not (result := what()):
        assert time.monotonic() < deadline, f"it never came: {why}"
        time.sleep(0.1)
    return result
