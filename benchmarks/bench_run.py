"""Run one benchmark in a process of its own, read the rows that it gives, and say which is worse
than it was: by its ratio to a floor that was measured beside it.

Seconds of two machines, or of two days, say nothing of each other; their ratio to a floor that ran
in turn with them does. A row without a floor of its own has another measure: what is wanted of it.
"""

import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.bench_rows import Bench, Row

ROOT = Path(__file__).resolve().parent.parent
WORSE = 4 / 3
"""A row fails when its ratio grows by more than a third (our choice)."""


@dataclass(frozen=True)
class Measured:
    """The values of one row in one sitting; `floor` is None where nothing was measured beside."""

    name: str
    unit: str
    ours: tuple[float, ...]
    floor: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Span:
    """A median with its range, of `n` values."""

    median: float
    low: float
    high: float
    n: int


class NotRunError(Exception):
    """A benchmark gave no results; the text says why."""


def results(bench: Bench, *, everything: bool) -> list[tuple[Row, Measured]]:
    """The declared rows of `bench`, run now. Raises NotRunError where it gives none."""
    script = ROOT / bench.script
    if not script.is_file():
        raise NotRunError(f"{bench.script} is not there")
    before = yardstick()
    with tempfile.TemporaryDirectory() as folder:
        found = _run(bench, script, Path(folder, "rows.json"), everything=everything)
    floor = statistics.mean([before, yardstick()])
    given = {one.name: one for one in found}
    rows = [(row, given[row.name]) for row in bench.rows if row.name in given]
    return [
        (row, replace(one, floor=tuple(floor for _ in one.ours)))
        if one.floor is None and one.unit == "s"
        else (row, one)
        for row, one in rows
    ]


def missing(bench: Bench, rows: Sequence[tuple[Row, Measured]]) -> list[str]:
    """The declared rows that a script did not give."""
    given = {row.name for row, _ in rows}
    return [row.name for row in bench.rows if row.name not in given]


def yardstick() -> float:
    """Seconds of ten starts of Python, one after another: the floor of what has none."""
    start = time.perf_counter()
    for _ in range(10):
        subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)
    return time.perf_counter() - start


def machine() -> str:
    """This machine as the table names it: cores, processor, memory, Python."""
    model, memory = platform.machine(), ""
    cpuinfo, meminfo = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    if cpuinfo.is_file() and (
        named := re.search(r"^model name\s*: (.+)$", cpuinfo.read_text(), re.M)
    ):
        model = re.sub(r"\((R|TM)\)|\bCPU\b|\bProcessor\b|@.*", "", named[1])
        model = " ".join(model.split())
    if meminfo.is_file() and (found := re.search(r"MemTotal: +(\d+) kB", meminfo.read_text())):
        memory = f", {int(found[1]) / 2**20:.0f} GiB"
    return f"{os.cpu_count()} cores {model}{memory}, Python {platform.python_version()}"


def arguments(bench: Bench, everything: bool) -> str:
    return bench.arguments if everything or bench.quick is None else bench.quick


def _run(bench: Bench, script: Path, into: Path, *, everything: bool) -> list[Measured]:
    argv = [sys.executable, str(script), *shlex.split(arguments(bench, everything))]
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    try:
        done = subprocess.run(
            [*argv, "--json", str(into)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=bench.limit_s,
        )
    except subprocess.TimeoutExpired:
        raise NotRunError(f"no end after {bench.limit_s:.0f} s") from None
    if not into.is_file():
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NotRunError(f"it ended with {done.returncode}: {' '.join(last)}")
    # 1 with results: it missed a target of its own, which the table says too.
    return [
        Measured(
            row["name"],
            row["unit"],
            tuple(row["ours"]),
            tuple(row["floor"]) if row.get("floor") else None,
        )
        for row in json.loads(into.read_text(encoding="utf-8"))["rows"]
    ]


def span(values: Sequence[float]) -> Span:
    """The median and the range of `values`, of which there is at least one."""
    return Span(statistics.median(values), min(values), max(values), len(values))


def ratios(ours: Sequence[float], floor: Sequence[float]) -> list[float]:
    """`ours` over `floor`: pair by pair where they were measured in pairs, else each over the
    median of the floor."""
    if len(ours) == len(floor):
        return [one / other for one, other in zip(ours, floor, strict=True)]
    middle = statistics.median(floor)
    return [one / middle for one in ours]


def is_worse(now: Span, kept: Span) -> bool:
    """Whether `now` is worse than `kept` by more than a third, beyond what both vary.

    The medians decide, and the ranges say what is noise: where they overlap by any value, one busy
    moment explains the difference. A single value has no range, so its median alone decides.
    """
    if now.median <= WORSE * kept.median:
        return False
    return now.low > kept.high
