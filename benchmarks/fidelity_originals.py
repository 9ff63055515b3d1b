"""The original tools: how each is run, and what its own output says.

A parser returns figures by name; the same names come from `fidelity_ours`. Units are the tool's
own: see `METRICS`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

GOBONNIEGO: Final = "github.com/cunnie/gobonniego/gobonniego@v1.0.10"

METRICS: Final[Mapping[str, Mapping[str, str]]] = {
    "dd": {"write": "MB/s"},
    "hdparm": {"cached reads -T": "MiB/s", "buffered reads -t": "MiB/s"},
    "gobonniego": {"write": "MB/s", "read": "MB/s", "512-byte I/O": "IOPS"},
    "bonnie": {
        "char write": "KiB/s",
        "block write": "KiB/s",
        "rewrite": "KiB/s",
        "char read": "KiB/s",
        "block read": "KiB/s",
        "seeks": "1/s",
        "create, sequential": "files/s",
        "stat, sequential": "files/s",
        "delete, sequential": "files/s",
        "create, random": "files/s",
        "stat, random": "files/s",
        "delete, random": "files/s",
    },
}
"""What is compared, in the order in which it is printed, and each figure's unit."""

_BONNIE_FIELDS: Final = {
    9: "char write",
    11: "block write",
    13: "rewrite",
    15: "char read",
    17: "block read",
    19: "seeks",
    26: "create, sequential",
    28: "stat, sequential",
    30: "delete, sequential",
    32: "create, random",
    34: "stat, random",
    36: "delete, random",
}
"""Columns of bonnie++'s CSV line, format 1.98 (bon_time.cpp)."""

_BONNIE_PHASES: Final = {
    "Writing a byte at a time...": "char write",
    "Writing intelligently...": "block write",
    "Rewriting...": "rewrite",
    "Reading a byte at a time...": "char read",
    "Reading intelligently...": "block read",
    "Create files in sequential order...": "create, sequential",
    "Stat files in sequential order...": "stat, sequential",
    "Delete files in sequential order...": "delete, sequential",
    "Create files in random order...": "create, random",
    "Stat files in random order...": "stat, random",
    "Delete files in random order...": "delete, random",
}
"""What bonnie++ writes to stderr when a phase begins; the next `done` ends it."""

_DD = re.compile(r"^(\d+) bytes\b.* copied, ([0-9.e+-]+) s,", re.MULTILINE)
_HDPARM = re.compile(r"Timing (cached|buffered disk) reads:.*= +([0-9.]+) ([kM])B/sec")


class OriginalError(Exception):
    """A tool did not run, or printed something else than it should."""


@dataclass(frozen=True)
class Sizes:
    """How large everything is, the same on both sides."""

    memory_mib: int = 256
    file_mib: int = 512
    device_mib: int = 640
    files_ki: int = 32
    dd_count: int = 102_400
    threads: int = 2
    iops_s: int = 5


@dataclass(frozen=True)
class Timed:
    """A piece of output and when it came, in seconds of a monotonic clock."""

    at_s: float
    text: str


def dd_command(device: str, sizes: Sizes) -> list[str]:
    """As in seed 002: `dd if=/dev/zero of=/dev/xvda bs=4k count=100k`."""
    return ["dd", "if=/dev/zero", f"of={device}", "bs=4k", f"count={sizes.dd_count}"]


def parse_dd(stderr: str) -> dict[str, float]:
    """Bytes by seconds of dd's last line: more digits than its own MB/s."""
    found = _DD.search(stderr)
    if not found or float(found.group(2)) == 0:
        raise OriginalError(f"dd printed no statistics: {stderr[-200:]!r}")
    return {"write": int(found.group(1)) / float(found.group(2)) / 1e6}


def hdparm_command(device: str) -> list[str]:
    """As in seed 002: `hdparm -Tt /dev/xvda`."""
    return ["hdparm", "-Tt", device]


def parse_hdparm(stdout: str) -> dict[str, float]:
    """MiB/s of both timings (hdparm's MB are 2^20)."""
    names = {"cached": "cached reads -T", "buffered disk": "buffered reads -t"}
    values = {
        names[kind]: float(value) / (1024 if scale == "k" else 1)
        for kind, value, scale in _HDPARM.findall(stdout)
    }
    if not values:
        raise OriginalError(f"hdparm printed no timing: {stdout[-200:]!r}")
    return values


def bonnie_command(directory: Path, sizes: Sizes) -> list[str]:
    """`-r` states the memory of the group: the file has to be twice that. `-n` counts in 1,024."""
    size, memory, files = str(sizes.file_mib), str(sizes.memory_mib), str(sizes.files_ki)
    return ["bonnie++", "-d", str(directory), "-s", size, "-r", memory, "-n", files, "-u", "root"]


def parse_bonnie(stdout: str, progress: list[Timed], files: int) -> dict[str, float]:
    """The CSV line's figures.

    bonnie++ prints `+++++` for a phase shorter than half a second. A metadata phase's rate is then
    `files` by the time between the messages that begin and end it on stderr.
    """
    line = next((x for x in reversed(stdout.splitlines()) if x.startswith("1.98,")), None)
    if line is None:
        raise OriginalError(f"bonnie++ printed no CSV line of format 1.98: {stdout[-200:]!r}")
    columns = line.split(",")
    seconds = phase_seconds(progress)
    values: dict[str, float] = {}
    for index, name in _BONNIE_FIELDS.items():
        cell = columns[index]
        if cell.strip("+"):
            values[name] = float(cell)
        elif cell and name in seconds and ", " in name:
            values[name] = files / seconds[name]
    return values


def phase_seconds(progress: list[Timed]) -> dict[str, float]:
    """How long each phase took by bonnie++'s messages on stderr."""
    seconds: dict[str, float] = {}
    running, began = "", 0.0
    for piece in progress:
        for part in re.split(r"(?<=\.\.\.)|\n", piece.text):
            if part.startswith("done") and running:
                seconds[running] = piece.at_s - began
                running = ""
            elif part in _BONNIE_PHASES:
                running, began = _BONNIE_PHASES[part], piece.at_s
    return seconds


def gobonniego_command(binary: Path, directory: Path, sizes: Sizes) -> list[str]:
    """One run with files of `file_mib` together."""
    return [
        str(binary),
        "-json",
        "-runs=1",
        f"-dir={directory}",
        f"-size={sizes.file_mib / 1024}",
        f"-threads={sizes.threads}",
        f"-iops-duration={sizes.iops_s}",
    ]


def parse_gobonniego(stdout: str) -> dict[str, float]:
    """The last result of GoBonnieGo's JSON."""
    try:
        result = json.loads(stdout[stdout.index("{") :])["results"][-1]
        return {
            "write": float(result["write_megabytes_per_second"]),
            "read": float(result["read_megabytes_per_second"]),
            "512-byte I/O": float(result["iops"]),
        }
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise OriginalError(f"no result in GoBonnieGo's JSON: {stdout[-200:]!r}") from error


def install_gobonniego(directory: Path) -> Path:
    """`go install` of GoBonnieGo into `directory`. Raises OriginalError with what go said."""
    try:
        done = subprocess.run(
            ["go", "install", GOBONNIEGO],
            env=os.environ | {"GOBIN": str(directory)},
            capture_output=True,
            text=True,
            timeout=300,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OriginalError(f"go install {GOBONNIEGO}: {error}") from error
    if done.returncode:
        raise OriginalError(f"go install {GOBONNIEGO}: {' '.join(done.stderr.split())}")
    return directory / "gobonniego"


def build_stand_in(directory: Path) -> Path:
    """Build our own Go program of GoBonnieGo's pattern. Raises OriginalError."""
    binary = directory / "gobonniego_standin"
    source = Path(__file__).resolve().parent / "gobonniego_standin"
    try:
        done = subprocess.run(
            ["go", "build", "-o", str(binary), "."], cwd=source, capture_output=True, text=True
        )
    except OSError as error:
        raise OriginalError(f"go build: {error}") from error
    if done.returncode:
        raise OriginalError(f"go build: {done.stderr.strip()}")
    return binary


def tool_version(tool: str, output: str) -> str:
    """Which version wrote `output`, or what the tool itself says when asked."""
    if tool == "gobonniego":
        return str(json.loads(output[output.index("{") :]).get("version", "unknown"))
    if tool == "bonnie":
        found = re.search(r"^Version +(\S+)", output, re.MULTILINE)
        return found.group(1) if found else "unknown"
    argv = {"dd": ["dd", "--version"], "hdparm": ["hdparm", "-V"]}[tool]
    lines = subprocess.run(argv, capture_output=True, text=True).stdout.splitlines()
    return lines[0] if lines else "unknown"
