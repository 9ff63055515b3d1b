"""The most memory that a piece of Python takes, in a process of its own."""

import subprocess
import sys
from dataclasses import dataclass

_REPORT = """
import sys as _s
with open("/proc/self/status") as _f:
    _peak = next(_line.split()[1] for _line in _f if _line.startswith("VmHWM"))
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
    """Run `code` to its end; beyond 3,000 MiB it gets a MemoryError, and the machine stays."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({3000 * 2**20},) * 2)\n"
    words = [sys.executable, "-c", limited + code + _REPORT]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, env=env, check=False)
    peaks = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("peak ")]
    peak = int(peaks[-1]) / 1024 if peaks else float("inf")
    return Measured(done.returncode, done.stdout, done.stderr, peak)


def run_diskbench(*args: str, env: dict[str, str]) -> Measured:
    """Run `diskbench ARGS` in the same way; `out` ends with its exit status: `exit 2`."""
    code = (
        f"import runpy, sys\nsys.argv = ['diskbench', *{args!r}]\n"
        "try:\n    runpy.run_module('diskbench', run_name='__main__')\n"
        "except SystemExit as end:\n    print('exit', end.code or 0)\n"
    )
    return run_python(code, env=env)
