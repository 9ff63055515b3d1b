"""Run the benchmarks, set them beside their floors, and fail when one became worse by a third.

    script/bench [--only NAME…]            the quick ones, against benchmarks/baseline.json
    script/bench --write                   keep the ratios of the quick ones as the baseline
    script/bench --write --only NAME       NAME at full size: its rows of the table and its ratios
    script/bench --all [--write]           all of them at full size
    script/bench --list                    what there is; --table writes the table, running nothing

NAME is a benchmark (logs), not a row. The table of benchmarks/README.md is written anew after each
benchmark, so that it may be filled piece by piece. baseline.json holds ratios to floors and no
times: it is good on another machine too. A row of seconds without a floor of its own is set beside
`python -c pass`, ten times, run before and after the benchmark; what is counted in other units is
compared with what is wanted. Ends with 1, naming the row, when one is worse or did not run.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import bench_rows
from benchmarks.bench_rows import BENCHES, Bench, Row
from benchmarks.bench_run import (
    ROOT,
    Measured,
    NotRunError,
    Span,
    arguments,
    is_worse,
    machine,
    missing,
    ratios,
    results,
    span,
)


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
    everything = options.all or bool(options.only and options.write)
    if options.list:
        for bench in chosen:
            print(f"{bench.name:<10} {_command(bench, everything)}")
        return 0
    return run_all(chosen, everything=everything, write=options.write, files=FILES)


def run_all(benches: Sequence[Bench], *, everything: bool, write: bool, files: Files) -> int:
    """Run `benches` one after another; 0 where none failed and none became worse."""
    begun = time.monotonic()
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
            if write and arguments(bench, everything) == bench.arguments:
                measured[bench_rows.key(bench, row.name)] = _record(found, loaded=load > cores)
        if write:
            _write(files.baseline, baseline)
            _write(files.measured, measured)
            write_table(files)
    print(f"\n{time.monotonic() - begun:.0f} s in all")
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    return 1 if faults else 0


def write_table(files: Files) -> None:
    """Write the table of the README anew from what was measured."""
    page = files.readme.read_text(encoding="utf-8")
    files.readme.write_text(bench_rows.replaced(page, _read(files.measured)), encoding="utf-8")


def _judge(
    bench: Bench, row: Row, found: Measured, key: str, baseline: dict[str, Any], *, write: bool
) -> str | None:
    """Print the row; what is wrong with it, if it became worse."""
    now = _ratio(row, found)
    ours = span(found.ours)
    line = f"  {row.name:<42} {bench_rows.figure(ours.median, found.unit):>12}"
    if found.floor:
        line += f"  floor {bench_rows.figure(span(found.floor).median, found.unit):>10}"
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
        elif is_worse(kept, now) and not write:
            line += "  BETTER: keep it with --write"  # else it may become this much worse unseen
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


def _record(found: Measured, *, loaded: bool) -> dict[str, Any]:
    ours = span(found.ours)
    record: dict[str, Any] = {
        "unit": found.unit,
        **{name: value if name == "n" else _short(value) for name, value in asdict(ours).items()},
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
    }
    if loaded:
        record["loaded"] = True
    if found.floor is not None and min(found.floor) > 0:
        record["floor"] = _short(statistics.median(found.floor))
        record["ratio"] = _short(statistics.median(ratios(found.ours, found.floor)))
    return record


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _command(bench: Bench, everything: bool) -> str:
    return bench_rows.command(bench, arguments(bench, everything))


def _key(bench: Bench, row: Row, everything: bool) -> str:
    """A baseline is for one row measured with the same arguments."""
    return f"{bench.name} {arguments(bench, everything)}: {row.name}"


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(
        json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    sys.exit(main())
