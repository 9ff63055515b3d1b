"""Run the benchmarks, set them beside their floors, and fail when one became worse by a third.

    script/bench [--only NAME…]            the quick ones, against benchmarks/baseline.json
    script/bench --all                     all of them at full size (a quarter of an hour)
    script/bench --write                   keep the ratios as baseline
    script/bench --all --write             also write the table of benchmarks/README.md anew
    script/bench --list                    what there is; --table writes the table, running nothing

NAME is a benchmark (logs), not a row. baseline.json holds ratios to floors and no times: it is
good on another machine too. A row of seconds without a floor of its own is set beside
`python -c pass`, ten times, run before and after the benchmark; what is counted in other units is
compared with what is wanted. Ends with 1, naming the row, when one is worse or did not run.
"""

from __future__ import annotations

import argparse
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
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import bench_table
from benchmarks.bench_compare import Span, is_worse, ratios, span
from benchmarks.bench_read import Measured, rows_written
from benchmarks.bench_rows import BENCHES, Bench, Row

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Files:
    """Where the baseline (ratios), what was measured, and the table are kept."""

    baseline: Path
    measured: Path
    readme: Path


FILES = Files(
    ROOT / "benchmarks/baseline.json",
    ROOT / "benchmarks/measured.json",
    ROOT / "benchmarks/README.md",
)


class NotRunError(Exception):
    """A benchmark gave no results; the text says why."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="all, at full size")
    parser.add_argument("--write", action="store_true", help="keep the results as the baseline")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this benchmark")
    parser.add_argument("--list", action="store_true", help="print the names and commands")
    parser.add_argument("--table", action="store_true", help="write the table, run nothing")
    options = parser.parse_args()
    if options.table:
        write_table(FILES)
        return 0
    names = [bench.name for bench in BENCHES]
    unknown = [name for name in options.only or [] if name not in names]
    if unknown:
        parser.error(f"{unknown[0]!r} is not a benchmark; there are: {', '.join(names)}")
    chosen = [
        bench
        for bench in BENCHES
        if (bench.name in options.only if options.only else options.all or bench.quick is not None)
    ]
    if options.list:
        for bench in chosen:
            print(f"{bench.name:<10} {_command(bench, options.all)}")
        return 0
    return run_all(chosen, everything=options.all, write=options.write, files=FILES)


def run_all(benches: Sequence[Bench], *, everything: bool, write: bool, files: Files) -> int:
    """Run `benches` one after another; 0 where none failed and none became worse."""
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    print(
        f"load {load:.1f} on {cores} cores{': busy, so read ratios only' if load > cores else ''}"
    )
    baseline: dict[str, Any] = _read(files.baseline)
    measured: dict[str, Any] = _read(files.measured)
    faults: list[str] = []
    for bench in benches:
        started = time.monotonic()
        try:
            rows = results(bench, everything=everything)
        except NotRunError as error:
            faults.append(f"{bench.name} was not measured: {error}")
            print(f"\n{faults[-1]}", flush=True)
            continue
        print(f"\n{_command(bench, everything)}: {time.monotonic() - started:.0f} s", flush=True)
        if everything:  # the quick arguments leave rows out
            faults += [f"{bench.name}: {name} was not measured" for name in missing(bench, rows)]
        for row, found in rows:
            fault = _judge(bench, row, found, _key(bench, row, everything), baseline, write=write)
            if fault:
                faults.append(fault)
            if write and _arguments(bench, everything) == bench.arguments:
                measured[bench_table.key(bench, row.name)] = _record(found)
        if write:
            _write(files.baseline, baseline)
            _write(files.measured, measured)
            write_table(files)
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    return 1 if faults else 0


def results(bench: Bench, *, everything: bool) -> list[tuple[Row, Measured]]:
    """The rows of `bench`, run now. Raises NotRunError."""
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


def write_table(files: Files) -> None:
    """Write the table of the README anew from what was measured."""
    page = files.readme.read_text(encoding="utf-8")
    files.readme.write_text(bench_table.replaced(page, kept_measurements(files)), encoding="utf-8")


def kept_measurements(files: Files) -> dict[str, Any]:
    """What was measured last: benchmark and row → measurement."""
    return _read(files.measured)


def _run(bench: Bench, script: Path, into: Path, *, everything: bool) -> list[Measured]:
    argv = [sys.executable, str(script), *shlex.split(_arguments(bench, everything))]
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


def _judge(
    bench: Bench, row: Row, found: Measured, key: str, baseline: dict[str, Any], *, write: bool
) -> str | None:
    """Print the row; what is wrong with it, if it became worse."""
    now = _ratio(row, found)
    ours = span(found.ours)
    line = f"  {row.name:<42} {bench_table.figure(ours.median, found.unit):>12}"
    if found.floor:
        line += f"  floor {bench_table.figure(span(found.floor).median, found.unit):>10}"
    if now is None:
        print(line)
        return None
    line += f"  × {now.median:.2f} ({now.low:.2f}–{now.high:.2f})"
    kept = Span(**baseline[key]) if key in baseline else None
    fault = None
    if kept is not None:
        line += f"  was {kept.median:.2f} ({kept.low:.2f}–{kept.high:.2f})"
        worse = is_worse(now, kept) and (found.floor is not None or now.median > 1)
        if worse and not write:
            line += "  WORSE"
            fault = (
                f"{bench.name}: {row.name} is {now.median:.2f} of its floor "
                f"({now.low:.2f}–{now.high:.2f}), was {kept.median:.2f} "
                f"({kept.low:.2f}–{kept.high:.2f}); profile it, or keep it with --write"
            )
    print(line, flush=True)
    if write:
        baseline[key] = {
            name: value if name == "n" else round(value, 3) for name, value in asdict(now).items()
        }
    return fault


def _ratio(row: Row, found: Measured) -> Span | None:
    """The row over its floor, else over what is wanted; None where it has neither."""
    if found.floor is not None and min(found.floor) > 0:
        return span(ratios(found.ours, found.floor))
    if row.at_most:
        return span([one / row.at_most for one in found.ours])
    return None


def _record(found: Measured) -> dict[str, Any]:
    ours = span(found.ours)
    record: dict[str, Any] = {
        "unit": found.unit,
        **{name: value if name == "n" else _short(value) for name, value in asdict(ours).items()},
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
    }
    if found.floor is not None and min(found.floor) > 0:
        record["floor"] = _short(statistics.median(found.floor))
        record["ratio"] = _short(statistics.median(ratios(found.ours, found.floor)))
    return record


def _short(value: float) -> float:
    return float(f"{value:.4g}")


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


def _arguments(bench: Bench, everything: bool) -> str:
    return bench.arguments if everything or bench.quick is None else bench.quick


def _command(bench: Bench, everything: bool) -> str:
    return bench_table.command(bench, _arguments(bench, everything))


def _key(bench: Bench, row: Row, everything: bool) -> str:
    """A baseline is for one row measured with the same arguments."""
    return f"{bench.name} {_arguments(bench, everything)}: {row.name}"


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(
        json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    sys.exit(main())
