"""Which files of a step are parsed, and the version of what parses them (store/parse_step.py).

Stores need these names before a run begins, and the parsers only after fio has ended.
"""

from __future__ import annotations

from diskbench.model.result import LEFT_OUT

PARSER_VERSION = 5
"""Raised when the same files give other rows; rows of different versions are not pooled.

2: quantiles lie between the exact extremes; a latency stands only where all jobs were timed.
3: every fsync and fdatasync is counted as a sync, none as a short I/O; fio 2.2 to 2.21 is read in
   its own units.
4: what another tool does not print is empty; before, its rows held the figures of one second.
5: each run of a file with several; syncs of fio's text; no value for a percentile beyond fio's
   histogram; fio 2.21 in its own units; diskspd's table of all targets.
"""
FIO_JSON = "fio.json"
FIO_EXIT = "fio.exit"
STDERR = "stderr.txt"
SAMPLES = "samples.txt"
CACHE = "cache.txt"
CANARIES = ("canary-before.txt", "canary-after.txt")
LIVE = "live.tsv"
LOCK = "lock.txt"
PARSED_FILES = (
    FIO_JSON,
    FIO_EXIT,
    STDERR,
    SAMPLES,
    CACHE,
    LIVE,
    LOCK,
    "end.txt",
    *CANARIES,
    LEFT_OUT,
)
"""All that `step_result` reads; logs are read when a series is requested."""
PARSED_IN_PART = (STDERR, SAMPLES, LIVE)
"""Those of which the first and the last sample are enough: a day of 192 cores is 1 GB."""
END_BYTES = 4 * 2**20
"""Of each end; a sample of 1,000 cores takes 70 kB."""
