"""Waiting for what other processes do."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

from diskbench.hosts.unit import Unit, payload, start_script
from diskbench.ports import Host

WAIT_S = 240.0


def until(
    what: Callable[[], Any],
    why: str = "",
    within_s: float = WAIT_S,
    *,
    log: Callable[[], object] = lambda: "",
) -> Any:
    """What `what` returns as soon as that is anything; a failure says `why`, and the `log`."""
    deadline = time.monotonic() + within_s
    while not (result := what()):
        assert time.monotonic() < deadline, f"it never came: {why}\n{log()}"
        time.sleep(0.05)
    return result


def read_until(process: subprocess.Popen[str], text: str) -> str:
    said = ""
    for line in process.stderr:
        said += line
        if text in line:
            return said
    raise AssertionError(f"it ended without saying {text!r}:\n{said}")


def killed_at(process: subprocess.Popen[str], text: str) -> None:
    """Kill a process, and all that it started here, once its stderr has a line with `text`."""
    read_until(process, text)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def ended(process: subprocess.Popen[str], code: int = 0, within_s: float = WAIT_S) -> str:
    """What a process says on stderr, which must end with `code`."""
    _, said = process.communicate(timeout=within_s)
    assert process.returncode == code, said
    return said


def started(host: Host, unit: Unit) -> None:
    """Start a unit and leave it: fio waits for somebody who follows."""
    lines = host.stream(start_script(unit, 1), stdin=payload(unit), root=unit.root)
    assert any(line.startswith(b"@ ") for line in lines)
    lines.close()
