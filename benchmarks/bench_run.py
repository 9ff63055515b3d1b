"""Run one benchmark in a process of its own, and read the rows that it gives."""

from __future__ import annotations

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
from pathlib import Path

from benchmarks.bench_read import Measured, rows_written
from benchmarks.bench_rows import Bench, Row

ROOT = Path(__file__).resolve().parent.parent


class NotRunError(Exception):
    """A benchmark gave no results; the text says why."""


def results(bench: Bench, *, everything: bool, at_least: int = 1) -> list[tuple[Row, Measured]]:
    """The rows of `bench`, run now, and again until each has `at_least` so many values; fewer, with
    a line on stderr, where a later run fails. Raises NotRunError where the first one does."""
    rows = _once(bench, everything=everything)
    for _ in range(at_least):
        if bench.once or min(len(found.ours) for _, found in rows) >= at_least:
            break
        try:
            rows = _joined(rows, _once(bench, everything=everything))
        except NotRunError as error:
            print(f"{bench.name} was not repeated: {error}", file=sys.stderr)
            break
    return rows


def _joined(
    rows: Sequence[tuple[Row, Measured]], others: Sequence[tuple[Row, Measured]]
) -> list[tuple[Row, Measured]]:
    """The values of two runs of one benchmark, row by row."""
    more = {found.name: found for _, found in others}
    joined = []
    for row, one in rows:
        other = more.get(one.name)
        if other is None:
            joined.append((row, one))
            continue
        floors = one.floor is not None and other.floor is not None
        floor = (*(one.floor or ()), *(other.floor or ())) if floors else None
        joined.append((row, Measured(one.name, one.unit, (*one.ours, *other.ours), floor)))
    return joined


def _once(bench: Bench, *, everything: bool) -> list[tuple[Row, Measured]]:
    script = ROOT / bench.script
    if not script.is_file():
        raise NotRunError(f"{bench.script} is not there")
    before = yardstick()
    with tempfile.TemporaryDirectory() as folder:
        found = _run(bench, script, Path(folder, "rows.json"), everything=everything)
    floor = statistics.mean([before, yardstick()])
    declared = {row.name: row for row in bench.rows}
    rows = []
    for one in found:
        if one.floor is None and one.unit == "s":
            one = Measured(one.name, one.unit, one.ours, tuple(floor for _ in one.ours))
        rows.append((declared.get(one.name, Row(one.name, "–", None)), one))
    return rows


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
    writes_json = "--json" in script.read_text(encoding="utf-8")
    if writes_json:
        argv += ["--json", str(into)]
    elif bench.adapter is None:
        raise NotRunError(f"{bench.script} does not know --json, and has no adapter")
    # A benchmark imports its neighbours both as `report` and as `benchmarks.report`.
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    try:
        done = subprocess.run(
            argv,
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
    text = into.read_text(encoding="utf-8") if into.is_file() else done.stdout
    rows = _rows(text, bench)
    if not rows:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NotRunError(f"it ended with {done.returncode}: {' '.join(last)}")
    return rows  # 1 with results: it missed a target of its own, which the table says too


def _rows(text: str, bench: Bench) -> list[Measured]:
    """The rows of what a script wrote, or printed."""
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if isinstance(document, dict) and "rows" in document:
        return rows_written(document)
    declared = {row.name for row in bench.rows}
    return [row for row in bench.adapter(text) if row.name in declared] if bench.adapter else []
