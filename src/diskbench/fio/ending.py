"""Why fio ended as it did: from its exit status, its stderr and the unit's end.txt."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass

STDERR = "stderr.txt"
END = "end.txt"
_OUTPUT = "fio.json"
_TAIL_LINES = 5
_SIGNALLED = 128
"""fio's exit status after SIGINT or SIGTERM; a shell adds the number of any other signal to it."""
_NOT_STARTED = re.compile(r"job startup hung|\d+ jobs? failed to start")
_JOB_KILLED = re.compile(r"got signal=(\d+)")


@dataclass(frozen=True)
class End:
    """What a unit recorded about its end; the defaults are for units of older versions."""

    signal: int | None = None
    clock_moved_s: float = 0.0
    oom_kills: int = 0
    is_shutdown: bool = False


def parse_end(data: bytes) -> End:
    """The contents of end.txt. Never raises, whatever the host wrote there."""
    values = dict(
        line.split(" ", 1) for line in data.decode(errors="replace").splitlines() if " " in line
    )
    try:
        moved = float(values.get("clock_moved_s", "0"))
    except ValueError:
        moved = 0.0
    return End(
        signal=_whole(values.get("signal")),
        clock_moved_s=moved if abs(moved) < float("inf") else 0.0,
        oom_kills=_whole(values.get("oom_kills")) or 0,
        is_shutdown=values.get("system") == "stopping",
    )


def why_failed(fio_exit: int, files: Mapping[str, bytes]) -> tuple[str, str] | None:
    """What went wrong in fio, as the beginning of a message, and what to do next; None where fio
    ended well. The last lines of its stderr are not included: see `last_words`."""
    text = "".join(files.get(name, b"").decode(errors="replace") for name in (STDERR, _OUTPUT))
    killed = _JOB_KILLED.search(text)
    number = int(killed[1]) if killed else fio_exit - _SIGNALLED
    oom = parse_end(files.get(END, b"")).oom_kills
    if _NOT_STARTED.search(files.get(STDERR, b"").decode(errors="replace")):
        return (
            "fio gave up before it measured: a job of it did not start in time",
            "the machine was short of CPU or memory; give it fewer jobs, or a larger machine",
        )
    if fio_exit == 0:
        return None
    if number == signal.SIGKILL and oom:
        killed_by_oom = f"the kernel killed {oom} process{'es' if oom > 1 else ''} meanwhile"
        return (
            f"fio was killed (signal 9): out of memory, {killed_by_oom}",
            "give it fewer jobs, a lower queue depth or smaller blocks, or a larger machine",
        )
    if number in {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, 0}:
        signal_name = f"signal {number}" if number else "SIGTERM or SIGINT"
        return (
            f"fio was ended by {signal_name} on the host; diskbench did not send it",
            "look for who did: dmesg and journalctl of the host, or the users logged in there",
        )
    if 0 < number < signal.NSIG:
        return (
            f"fio crashed: {_name(number)}",
            "its files are in the evidence; another version of fio may not crash",
        )
    if fio_exit in {126, 127}:
        return (f"fio could not be run (exit {fio_exit})", "install fio on the host")
    return (
        f"fio ended with status {fio_exit}",
        "its job file and output are in the evidence: 'diskbench results show' names it",
    )


def last_words(files: Mapping[str, bytes]) -> str:
    """The last lines that fio wrote to stderr, or among its output, as the end of a message."""
    for name in (STDERR, _OUTPUT):
        text = files.get(name, b"").decode(errors="replace")
        outside, _, document = f"\n{text}".partition("\n{")
        # fio begins what it says of a job with the job's name: "r: you need to specify size=".
        lines = (text if name == STDERR else outside).strip().splitlines()
        shown = lines or [line for line in document.splitlines() if "fio:" in line]
        if shown:
            return ":\n  " + "\n  ".join(shown[-_TAIL_LINES:])
    return ""


def _name(number: int) -> str:
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdecimal() else None
