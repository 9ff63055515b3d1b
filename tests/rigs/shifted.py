"""Processes whose machine's clock is wrong: their wall clock is shifted, their monotonic clock is
not."""

import hashlib
import os
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

_SOURCE = Path(__file__).with_name("shifted_clock.c")


def shifted(user, seconds):
    """The same user on a machine whose clock is so many seconds ahead (negative: behind)."""
    wrong = {"LD_PRELOAD": clock_library(), "SHIFTED_CLOCK_S": str(seconds), "TZ": "UTC"}
    return replace(user, extra_env=user.extra_env | wrong)


@cache
def clock_library():
    """The compiled library, kept in the user's cache for each state of its source."""
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    built = user_cache_path("diskbench-tests", ensure_exists=True) / f"shifted-clock-{digest}.so"
    if not built.exists():
        new = built.with_suffix(f".{os.getpid()}")
        words = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(new), str(_SOURCE)]
        subprocess.run(words, check=True)
        new.replace(built)
    return str(built)
