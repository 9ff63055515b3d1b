"""`python -m emulators.together --state DIR`: all emulated clouds until stdin closes.

Prints one line of JSON when they are up: what to set in the environment and what not, the file of a
small matrix over all of them, and the words of each cloud's module `listing`.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from emulators import serving

SSH_CONFIG = "DISKBENCH_SSH_CONFIG"
STARTS_WITHIN_S = 960.0
"""The first start builds the simulator of vSphere: minutes, where others use the machine, too."""
DISKS: dict[str, tuple[dict[str, Any], ...]] = {
    "aws": ({"disk": "gp2", "size": 20}, {"disk": "io1", "size": 20, "iops": 1000}),
    "azure": ({"disk": "Premium_LRS", "size": 32}, {"disk": "Standard_LRS", "size": 32}),
    "gcp": ({"disk": "pd-ssd", "size": 64}, {"disk": "pd-standard", "size": 200}),
    "vsphere": ({"datastore": "nvme", "size": 4}, {"datastore": "nvme", "size": 8}),
}
"""Two disks of each cloud that its catalogue, or the emulator's datastore, sets apart."""
PROFILE = """[global]
filename=data
size=32m
ioengine=libaio
direct=1
[fill]
rw=write
bs=1m
iodepth=8
end_fsync=1
[read]
stonewall
rw=randread
bs=4k
iodepth=32
time_based
runtime={seconds}
[write]
stonewall
rw=randwrite
bs=4k
iodepth=32
time_based
runtime={seconds}
"""
ROWS = ("fill/write", "read/read", "write/write")
"""Step and direction of each row that a run of it has."""


@dataclass(frozen=True)
class Together:
    """What is printed."""

    env: Mapping[str, str]
    unset: tuple[str, ...]
    matrix: str
    rows: tuple[str, ...]
    listing: Mapping[str, tuple[str, ...]]


@contextmanager
def serve(
    state: Path, *, replicates: int = 1, seconds: int = 5, lag: int = 0
) -> Iterator[Together]:
    """All clouds, each in a process of its own, until the block ends; nothing is left then.

    The matrix lies in `state`, beside its profile, whose two timed steps last so many `seconds`.
    Each cloud lags for `lag` looks (serving.Options).
    """
    with ExitStack() as stack:
        started = {cloud: _start(cloud, state / cloud, lag) for cloud in serving.clouds()}
        for process in started.values():
            stack.callback(_end, process)
        told = {cloud: _told(cloud, process) for cloud, process in started.items()}
        env = {name: value for one in told.values() for name, value in one["env"].items()}
        env[SSH_CONFIG] = str(_ssh_config(state, [one["env"][SSH_CONFIG] for one in told.values()]))
        (state / "look.fio").write_text(PROFILE.format(seconds=seconds))
        matrix = state / "matrix.yaml"
        matrix.write_text(yaml.safe_dump(_matrix(told, replicates), sort_keys=False))
        yield Together(
            env=env,
            unset=tuple(name for one in told.values() for name in one["demo"]["unset"]),
            matrix=str(matrix),
            rows=ROWS,
            listing={cloud: tuple(one["demo"]["listing"]) for cloud, one in told.items()},
        )


def _matrix(told: Mapping[str, Any], replicates: int) -> dict[str, Any]:
    """Cells of every cloud: where its demonstration rents, with two disks."""
    return {
        "name": "four-clouds",
        "title": "A small matrix over four emulated clouds",
        "defaults": {"profile": "./look.fio", "replicates": replicates},
        "include": [
            {"provider": cloud, **_place(one["demo"]["run"]), **disk}
            for cloud, one in told.items()
            for disk in DISKS[cloud]
        ],
        "limits": {"max_parallel": 4, "per": dict.fromkeys(told, 2)},
    }


def _place(words: list[str]) -> dict[str, str]:
    """Which part of a cloud it is, of the words of `diskbench run`, as a matrix says it."""
    flags = dict(pairwise(words))
    fields = ("endpoint_url", "region", "project", "ca_file")
    named = {field: flags.get(f"--{field.replace('_', '-')}") for field in fields}
    return {field: value for field, value in named.items() if value is not None}


def _start(cloud: str, state: Path, lag: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "emulators", cloud, "--state", str(state), "--lag", str(lag)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a Ctrl-C is for diskbench; it ends when its input does
    )


def _told(cloud: str, process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], STARTS_WITHIN_S)
    line = process.stdout.readline() if ready else ""
    if not line:
        raise RuntimeError(f"the emulated {cloud} did not start")
    return json.loads(line)


def _end(process: subprocess.Popen[str]) -> None:
    process.communicate()  # closes its input
    if process.returncode:
        print(f"{process.args!r} ended with {process.returncode}", file=sys.stderr)


def _ssh_config(state: Path, others: list[str]) -> Path:
    """One configuration that leads to the machines of all."""
    path = state / "ssh_config"
    path.write_text("".join(f"Include {other}\n" for other in others))
    return path


def main() -> None:
    """Serve until stdin closes, or the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--state", type=Path, required=True, help="a directory of its own, on a disk"
    )
    parser.add_argument("--limit-s", type=float, default=3600.0, help="end after so long")
    parser.add_argument(
        "--lag",
        type=int,
        default=0,
        help="looks for which new things are absent and deleted ones present",
    )
    given = parser.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    with serve(given.state.resolve(), lag=given.lag) as told:
        print(json.dumps(asdict(told)), flush=True)
        deadline = time.monotonic() + given.limit_s
        while (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([sys.stdin], [], [], left)
            if ready and not os.read(sys.stdin.fileno(), 4096):
                return


if __name__ == "__main__":
    main()
