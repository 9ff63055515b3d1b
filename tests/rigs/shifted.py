"""Processes whose machine's clock is wrong: their wall clock is shifted by libfaketime, their
monotonic clock is not."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from functools import cache

from tests.rigs.cli import Cli


def shifted(user: Cli, seconds: int) -> Cli:
    """The same user on a machine whose clock is so many seconds ahead (negative: behind)."""
    wrong = {
        "LD_PRELOAD": _library(),
        "FAKETIME": f"{seconds:+d}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_RESET": "1",
        "TZ": "UTC",
    }
    return replace(user, extra_env=user.extra_env | wrong)


@cache
def _library() -> str:
    """libfaketime, by what the command `faketime` preloads."""
    argv = ["faketime", "-m", "-f", "+0s", "env"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return next(
        line.partition("=")[2] for line in done.stdout.splitlines() if line.startswith("LD_PRELOAD")
    )
