"""Our profiles in the originals' place: the `diskbench` command, and its figures in their units."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.fidelity_originals import Sizes

MIB: Final = 2**20

_BONNIE_STEPS: Final = {
    "create-seq": "create, sequential",
    "stat-seq": "stat, sequential",
    "delete-seq": "delete, sequential",
    "create-rand": "create, random",
    "stat-rand": "stat, random",
    "delete-rand": "delete, random",
}


class OursError(Exception):
    """diskbench did not end well, or its result lacks a step."""


@dataclass(frozen=True)
class Moved:
    """What a step moved in one direction."""

    ios: int
    bytes: int
    seconds: float


Steps = Mapping[str, Mapping[str, Moved]]
"""step → direction → Moved."""


def diskbench_command(profile: str, target: list[str], sizes: Sizes) -> list[str]:
    """`diskbench run` of a profile with the sizes that the original gets."""
    parameters = {
        "dd": {"count": f"{sizes.dd_count}"},
        "hdparm": {"size": f"{sizes.device_mib}m"},
        "gobonniego": {
            "size": f"{sizes.file_mib}m",
            "workers": f"{sizes.threads}",
            "runtime": f"{sizes.iops_s}",
        },
        "bonnie": {
            "size": f"{sizes.file_mib}m",
            "files": f"{sizes.files_ki * 1024}",
            "random_files": f"{sizes.files_ki * 1024}",
        },
    }[profile]
    settings = [word for key, value in parameters.items() for word in ("--set", f"{key}={value}")]
    run = [sys.executable, "-m", "diskbench", "run", "--provider", "local", *target]
    return [*run, "--profile", profile, *settings, "--quiet", "--output", "json"]


def directory_target(directory: Path) -> list[str]:
    """A mounted filesystem, used as it is."""
    return ["--path", str(directory), "--filesystem", "none"]


def device_target(device: str, identity: str) -> list[str]:
    """A raw device and its identity as `diskbench devices` prints it."""
    return ["--device", device, "--destroy-data", identity]


def parse_identity(document: str, device: str) -> str:
    """The identity of `device` in `diskbench devices --output json`."""
    for found in json.loads(document)["devices"]:
        if found["path"] == device:
            return str(found["identity"])
    raise OursError(f"`diskbench devices` does not list {device}")


def parse_steps(document: str) -> Steps:
    """The whole-step rows of the one run in `diskbench run --output json`."""
    (run,) = json.loads(document)["runs"]
    if run["state"] != "done":
        raise OursError(f"the run ended {run['state']}: {run['error']} ({run['advice']})")
    steps: dict[str, dict[str, Moved]] = {}
    for step in run["steps"]:
        rows = [row for row in step["measurements"] if row["scope"] == "step"]
        steps[step["step"]] = {row["direction"]: _moved(row) for row in rows}
    return steps


def figures(profile: str, steps: Steps) -> dict[str, float]:
    """The original's figures from our steps. Raises OursError when one is missing."""
    try:
        return {"dd": _dd, "hdparm": _hdparm, "gobonniego": _gobonniego, "bonnie": _bonnie}[
            profile
        ](steps)
    except (KeyError, ZeroDivisionError) as error:
        raise OursError(f"{profile}: no such step, direction or time: {error}") from error


def _dd(steps: Steps) -> dict[str, float]:
    return {"write": _bytes_per_s(steps["dd-write"]["write"]) / 1e6}


def _hdparm(steps: Steps) -> dict[str, float]:
    return {
        "cached reads -T": _bytes_per_s(steps["cached-reads-T"]["read"]) / MIB,
        "buffered reads -t": _bytes_per_s(steps["buffered-reads-t"]["read"]) / MIB,
    }


def _gobonniego(steps: Steps) -> dict[str, float]:
    return {
        "write": _bytes_per_s(steps["seq-write-64k"]["write"]) / 1e6,
        "read": _bytes_per_s(steps["seq-read-64k"]["read"]) / 1e6,
        "512-byte I/O": _both_per_s(steps["rand-512-9to1"]),
    }


def _bonnie(steps: Steps) -> dict[str, float]:
    seeks = steps["seeks"]
    values = {
        "char write": _bytes_per_s(steps["char-write"]["write"]) / 1024,
        "block write": _bytes_per_s(steps["block-write"]["write"]) / 1024,
        "rewrite": _bytes_per_s(steps["rewrite"]["write"]) / 1024,
        "char read": _bytes_per_s(steps["char-read"]["read"]) / 1024,
        "block read": _bytes_per_s(steps["block-read"]["read"]) / 1024,
        # Every seek is a read; one in ten is also a write.
        "seeks": seeks["read"].ios / max(m.seconds for m in seeks.values()),
    }
    for step, name in _BONNIE_STEPS.items():
        (moved,) = steps[step].values()
        values[name] = moved.ios / moved.seconds
    return values


def _moved(row: Mapping[str, Any]) -> Moved:
    return Moved(row["ios"], row["bytes"], row["runtime_ns"] / 1e9)


def _bytes_per_s(moved: Moved) -> float:
    return moved.bytes / moved.seconds


def _both_per_s(directions: Mapping[str, Moved]) -> float:
    """I/Os of both directions by the longer one's time."""
    total = sum(moved.ios for moved in directions.values())
    return total / max(moved.seconds for moved in directions.values())
