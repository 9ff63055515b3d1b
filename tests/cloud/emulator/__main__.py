"""`python -m tests.cloud.emulator aws --state DIR`: an emulated cloud until stdin closes.

Prints one line of JSON when it is up: its endpoint, and what to set in the environment.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import time
from pathlib import Path


def main() -> None:
    """Serve until stdin closes or the time is up; then take everything away."""
    parser = argparse.ArgumentParser(prog="python -m tests.cloud.emulator", description=__doc__)
    parser.add_argument("cloud", choices=["aws"])
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument(
        "--state", type=Path, required=True, help="a directory of its own, on a disk"
    )
    parser.add_argument("--time-scale", type=float, default=1.0, help="divides burst buckets")
    parser.add_argument("--limit-s", type=float, default=3600.0, help="end after so long")
    given = parser.parse_args()

    from tests.cloud.emulator.aws.cloud import Cloud
    from tests.cloud.emulator.aws.server import (
        environment,
        running,
        storage_environment,
        warm_up,
    )

    given.state.mkdir(parents=True, exist_ok=True)
    cloud = Cloud(given.state.resolve(), time_scale=given.time_scale, limit_s=given.limit_s)
    with running(cloud, port=given.port) as endpoint:
        warm_up(cloud, endpoint)
        told = {
            "endpoint": endpoint,
            "env": environment(cloud),
            "storage_env": storage_environment(endpoint),
            "time_scale": cloud.time_scale,
        }
        print(json.dumps(told), flush=True)
        _wait(given.limit_s)


def _wait(limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([sys.stdin], [], [], left)
        if ready and not os.read(sys.stdin.fileno(), 4096):
            return


if __name__ == "__main__":
    main()
