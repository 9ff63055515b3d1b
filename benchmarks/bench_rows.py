"""The table of all benchmarks: each row of benchmarks/README.md is declared here and nowhere else.

A benchmark is a script that writes its results with `--json FILE`:

    {"rows": [{"name": str, "unit": str, "ours": [floats], "floor": [floats] or null}]}

`floor` was measured in turn with `ours`, value by value. `name` is that of a Row below. What is
wanted of a row is a sentence of the premises in docs/design.md.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One row of the table. `at_most` is what is wanted, in the unit of the row; `agrees` the
    lowest and highest ratio to the floor of a row that shall differ from it in neither way."""

    name: str
    wanted: str
    at_most: float | None
    floor: str = "–"
    peer: str = "–"
    agrees: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bench:
    """One script. `arguments` are those of `--all`, `quick` those of the quick pass, if it is part
    of that; `limit_s` is the time after which it counts as hanging."""

    name: str
    script: str
    arguments: str
    rows: tuple[Row, ...]
    quick: str | None = None
    limit_s: float = 600


PYTHON = "`python -c pass`, ten times"
"""The floor of a row of seconds that has none of its own (benchmarks/bench.py)."""
TYPER = "`python -c 'import typer'`"
SSH = "`ssh HOST fio`"
DUCKDB = "DuckDB's read with the same percentiles"

BENCHES = (
    Bench(
        "startup",
        "benchmarks/startup.py",
        "--rounds 15",
        (Row("--help", "≤ 0.25 s", 0.25, TYPER), Row("version", "–", None, TYPER)),
        quick="--rounds 5",
    ),
    Bench(
        "overhead",
        "benchmarks/overhead.py",
        "--hosts 1 --repeats 5",
        (
            Row("1 host, beyond fio", "≤ 2.5 s", 2.5, SSH, "PerfKitBenchmarker 6.7 s"),
            Row("1 host, CPU", "–", None, PYTHON, "PerfKitBenchmarker 5.8 s"),
            Row("1 host, memory", "≤ 250 MB", 250, "–", "PerfKitBenchmarker 236 MB"),
        ),
        quick="--hosts 1 --repeats 3",
    ),
    Bench(
        "overhead-many",
        "benchmarks/overhead.py",
        "--hosts 8,32 --repeats 5",
        (
            Row("8 hosts, beyond fio", "–", None, SSH, "PerfKitBenchmarker 10 s"),
            Row("8 hosts, CPU", "–", None, PYTHON),
            Row("8 hosts, memory", "≤ 250 MB", 250),
            Row("32 hosts, beyond fio", "–", None, SSH, "PerfKitBenchmarker 30 s"),
            Row("32 hosts, CPU", "–", None, PYTHON, "PerfKitBenchmarker 15.1 s"),
            Row("32 hosts, memory", "–", None),
        ),
        limit_s=1500,
    ),
    Bench(
        "beside",
        "benchmarks/beside_fio.py",
        "--repeats 5 --seconds 15",
        (
            Row("CPU beside fio on the host", "≤ 1 % of a core", 1),
            Row("I/O beside fio on the host", "–", None),
            Row("CPU beside fio on the host, with `ssh HOST fio`", "–", None),
            Row("I/O beside fio on the host, with `ssh HOST fio`", "–", None),
        ),
    ),
    Bench(
        "agreement",
        "benchmarks/agreement.py",
        "--repeats 5 --runtime 5",
        tuple(
            Row(f"IOPS, {job}", "0.98–1.02 of bare fio", None, "bare fio", agrees=(0.98, 1.02))
            for job in (
                "rand-read-4k-qd1 read",
                "rand-read-4k-qd32 read",
                "rand-write-4k-qd32 write",
                "seq-read-1m-qd8 read",
                "rand-rw70-16k-4jobs read",
                "rand-rw70-16k-4jobs write",
            )
        ),
    ),
    Bench(
        "logs",
        "benchmarks/logs.py",
        "--repeats 5",
        (
            Row("per-I/O logs, 7.4 M rows", "≤ 2 s", 2, DUCKDB, "fio-plot 43 s"),
            Row("per-I/O logs, CPU", "–", None, DUCKDB),
            Row("per-I/O logs, memory", "≤ 500 MB", 500, DUCKDB, "fio-plot 3,300 MB"),
        ),
        quick="--repeats 5",
    ),
    Bench(
        "store",
        "benchmarks/stored.py",
        "--runs 10000 --rounds 5",
        (
            Row("import", "≤ 60 s", 60, PYTHON),
            Row("list", "≤ 0.5 s", 0.5, TYPER),
            Row("export csv", "≤ 3 s", 3, TYPER),
            Row("export csv, memory", "≤ 300 MB", 300),
            Row("report", "≤ 30 s", 30, PYTHON),
            Row("report, memory", "≤ 500 MB", 500),
            Row("publish", "≤ 120 s", 120, PYTHON),
            Row("publish, memory", "≤ 500 MB", 500),
            Row("publish again", "–", None, PYTHON),
            Row("site, size", "≤ 40 MB", 40),
        ),
        quick="--runs 10000 --rounds 3 --part list --part 'export csv'",
        limit_s=1500,
    ),
    Bench(
        "cells",
        "benchmarks/cells.py",
        "--cells 1000 --workers 4",
        (
            Row("1,000 cells, wall", "≤ 600 s", 600, PYTHON),
            Row("1,000 cells, CPU a cell", "≤ 1 s", 1, PYTHON),
            Row("1,000 cells, makespan to the ideal", "≤ 1.25", 1.25),
            Row("1,000 cells, memory of a worker", "≤ 250 MB", 250),
        ),
        limit_s=1800,
    ),
)

BEGIN = "<!-- table -->"
END = "<!-- end of table -->"
_HEAD = (
    "| what | command | measured | wanted | floor | peer | date, machine |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)


def replaced(page: str, kept: Mapping[str, Mapping[str, Any]]) -> str:
    """`page` with its table written anew from `kept`: benchmark and row → measurement."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(kept)}{END}{after}"


def table(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """One line for each row that is declared."""
    lines = [
        _line(bench, row, kept.get(key(bench, row.name))) for bench in BENCHES for row in bench.rows
    ]
    return "\n".join([*_HEAD, *lines]) + "\n"


def key(bench: Bench, row: str) -> str:
    """The name of a row in the file of what was measured."""
    return f"{bench.name}: {row}"


def command(bench: Bench, arguments: str) -> str:
    """What is typed for a benchmark."""
    return shlex.join(["python", bench.script, *shlex.split(arguments)])


def figure(value: float, unit: str) -> str:
    """A value with as many digits as it is worth: three."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 4
    return f"{value:,.{digits}f} {unit}".rstrip()


def is_as_wanted(row: Row, found: Mapping[str, Any]) -> bool:
    """Whether a measurement is what is wanted of the row; True for a row without a target."""
    if row.agrees is not None and found.get("ratio") is not None:
        lowest, highest = row.agrees
        return lowest <= float(found["ratio"]) <= highest
    return row.at_most is None or float(found["median"]) <= row.at_most


def _line(bench: Bench, row: Row, found: Mapping[str, Any] | None) -> str:
    if found is None:
        measured, floor, when = "–", row.floor, "–"
    else:
        unit = found["unit"]
        measured = (
            f"{figure(found['median'], unit)} ({figure(found['low'], '')}–"
            f"{figure(found['high'], '')}, n {found['n']})"
        )
        if not is_as_wanted(row, found):
            measured = f"**{measured}**"
        floor = row.floor
        if found.get("floor") is not None:
            floor += f": {figure(found['floor'], unit)} (× {figure(found['ratio'], '')})"
        when = f"{found['date']}, {found['machine']}{', loaded' if found.get('loaded') else ''}"
    typed = f"`{command(bench, bench.arguments)}`"
    cells = (row.name, typed, measured, row.wanted, floor, row.peer, when)
    return f"| {' | '.join(cells)} |"
