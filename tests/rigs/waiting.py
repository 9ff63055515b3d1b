"""Waiting for what other processes do."""

from __future__ import annotations

import subprocess
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


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """What a process says on stderr up to the line that holds `text`."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if text in line:
            return said
    raise AssertionError(f"it ended without saying {text!r}:\n{said}")
