"""Waiting for what other processes do."""

import os
import signal
import time

from diskbench.hosts.unit import payload, start_script

WAIT_S = 240.0


def until(what, why="", within_s=WAIT_S, *, log=lambda: ""):
    """What `what` returns as soon as that is anything; a failure says `why`, and the `log`."""
    deadline = time.monotonic() + within_s
    while not (result := what()):
        assert time.monotonic() < deadline, f"it never came: {why}\n{log()}"
        time.sleep(0.05)
    return result


def read_until(process, text):
    said = ""
    for line in process.stderr:
        said += line
        if text in line:
            return said
    raise AssertionError(f"it ended without saying {text!r}:\n{said}")


def killed_at(process, text):
    """Kill a process, and all that it started here, once its stderr has a line with `text`."""
    read_until(process, text)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def ended(process, code=0, within_s=WAIT_S):
    """What a process says on stderr, which must end with `code`."""
    _, said = process.communicate(timeout=within_s)
    assert process.returncode == code, said
    return said


def started(host, unit):
    """Start a unit and leave it: fio waits for somebody who follows."""
    lines = host.stream(start_script(unit, 1), stdin=payload(unit), root=unit.root)
    assert any(line.startswith(b'"@ ') for line in lines)
    lines.close()
