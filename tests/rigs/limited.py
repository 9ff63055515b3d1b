"""A command that may take only so much memory and time, whatever its input makes it do; and the
most memory that a piece of Python takes."""

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from tests.rigs.cli import in_process

MEMORY_BYTES = 3 * 2**30
"""Address space; a diskbench that reads a plain file stays below a third of it."""
CPU_S = 60
"""Processor time, which a busy machine does not change."""
CALLER = ("-m", "tests.rigs.limited")
Ended = subprocess.CompletedProcess[str]


def limited(user, lines):
    """Call command lines one after the other in one process, with these limits for all of them
    together: starting it takes longer than most of them. What came back of each. Raises
    AssertionError with the number of the line that ended it."""
    process = replace(user, program=CALLER).start("each", json.dumps(list(lines)))
    out, err = process.communicate(timeout=280)
    ended = [Ended((), **json.loads(line)) for line in out.splitlines()]
    assert process.returncode == 0, (process.returncode, f"in line {len(ended)}", err[-2000:])
    return ended


def _call_each(lines):
    from diskbench.cli.main import main

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    for line in lines:
        with in_process(os.environ, Path.home()) as (out, err):
            code = main(line)
        print(json.dumps({"returncode": code, "stdout": out(), "stderr": err()}), flush=True)


_REPORT = """
import sys as _s
_peak = open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]
print("\\npeak", _peak, file=_s.stderr)
"""
"""Not ru_maxrss, which counts what the process that started it held."""


@dataclass(frozen=True)
class Measured:
    """How a piece of Python ended, and the most memory that it held, in MiB."""

    exit: int
    out: str
    err: str
    peak_mib: float


def run_python(code: str, *, env: dict[str, str] | None = None) -> Measured:
    """Run `code` to its end; beyond MEMORY_BYTES it gets a MemoryError, and the machine stays."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES},) * 2)\n"
    words = [sys.executable, "-c", limited + code + _REPORT]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, env=env, check=False)
    return _measured(done)


def run_diskbench(user, *args: str) -> Measured:
    """Run `diskbench ARGS` in the same way."""
    return _measured(replace(user, program=CALLER).run("measured", json.dumps(args), timeout_s=100))


def _call_measured(words):
    from diskbench.cli.main import main

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        sys.exit(main(words))
    finally:
        status = Path("/proc/self/status").read_text()
        print("\npeak", status.partition("VmHWM:")[2].split()[0], file=sys.stderr)


def _measured(done):
    peaks = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("peak ")]
    peak = int(peaks[-1]) / 1024 if peaks else float("inf")
    return Measured(done.returncode, done.stdout, done.stderr, peak)


if __name__ == "__main__":
    {"each": _call_each, "measured": _call_measured}[sys.argv[1]](json.loads(sys.argv[2]))
