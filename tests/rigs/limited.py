"""A command that may take only so much memory and time, whatever its input makes it do."""

import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from tests.rigs.cli import in_process

ROOT = Path(__file__).parents[2]

MEMORY_BYTES = 3 * 2**30
"""Address space; a diskbench that reads a plain file stays below a third of it."""
CPU_S = 60
"""Processor time, which a busy machine does not change."""


def limits():
    """For Popen's `preexec_fn`."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))


Ended = subprocess.CompletedProcess[str]


def limited(user, lines):
    """Call command lines one after the other in one process, with these limits for all of them
    together: starting it takes longer than most of them. What came back of each. Raises
    AssertionError with the number of the line that ended it."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    caller = replace(
        user,
        program=("-m", "tests.rigs.limited"),
        extra_env=user.extra_env | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    process = caller.start(json.dumps(list(lines)), preexec_fn=limits)
    out, err = process.communicate(timeout=280)
    ended = [Ended((), **json.loads(line)) for line in out.splitlines()]
    assert process.returncode == 0, (process.returncode, f"in line {len(ended)}", err[-2000:])
    return ended


def _call_each(lines):
    from diskbench.cli.main import main

    for line in lines:
        with in_process(os.environ, Path.home()) as (out, err):
            code = main(line)
        ended = {"returncode": code, "stdout": out(), "stderr": err()}
        print(json.dumps(ended), flush=True)


if __name__ == "__main__":
    _call_each(json.loads(sys.argv[1]))
