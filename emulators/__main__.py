"""`python -m emulators CLOUD --state DIR`: an emulated cloud until stdin closes.

Prints one line of JSON when it is up: its endpoint, what to set in the environment, and what
script/demo-cloud does with it.
"""

import argparse
import json
import os
import select
import sys
import time
from dataclasses import asdict
from pathlib import Path

from emulators import serving


def main() -> None:
    """Serve until stdin closes or the time is up; then take everything away."""
    parser = argparse.ArgumentParser(prog="python -m emulators", description=__doc__)
    parser.add_argument("cloud", choices=serving.clouds())
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument(
        "--state", type=Path, required=True, help="a directory of its own, on a disk"
    )
    parser.add_argument("--time-scale", type=float, default=1.0, help="divides burst buckets")
    parser.add_argument("--limit-s", type=float, default=3600.0, help="end after so long")
    parser.add_argument(
        "--lag",
        type=int,
        default=0,
        help="looks for which new things are absent and deleted ones present",
    )
    parser.add_argument(
        "--demand-tag",
        action="append",
        default=[],
        metavar="KEY",
        help="refuse to make anything without this tag",
    )
    given = parser.parse_args()

    given.state.mkdir(parents=True, exist_ok=True)
    options = serving.Options(
        given.state.resolve(),
        given.port,
        given.time_scale,
        given.limit_s,
        given.lag,
        tuple(given.demand_tag),
    )
    with serving.of(given.cloud).serve(options) as told:
        line = asdict(told)
        print(json.dumps(line | line.pop("more")), flush=True)
        _wait(given.limit_s)


def _wait(limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([sys.stdin], [], [], left)
        if ready and not os.read(sys.stdin.fileno(), 4096):
            return


if __name__ == "__main__":
    main()
