"""The table of all benchmarks: each row of benchmarks/README.md is declared here and nowhere else.

A benchmark is a script that writes its results with `--json FILE`:

    {"rows": [{"name": str, "unit": str, "ours": [floats], "floor": [floats] or null}]}

`floor` was measured in turn with `ours`, value by value. `name` is that of a Row below. A script
that writes another shape, or does not know `--json`, needs an `adapter`, which makes the rows of
the file, or of what the script prints (bench_read.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bench_read import (
    Measured,
    cells_written,
    site_printed,
    stored_written,
)


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
    of that; `limit_s` is the time after which it counts as hanging. One that takes so long that it
    is measured `once` has no more values with `--repeats`."""

    name: str
    script: str
    arguments: str
    rows: tuple[Row, ...]
    quick: str | None = None
    adapter: Callable[[str], list[Measured]] | None = None
    limit_s: float = 600
    once: bool = False


PYTHON = "`python -c pass`, ten times"
"""The floor of a row of seconds that has none of its own (benchmarks/bench.py)."""

BENCHES = (
    Bench(
        "startup",
        "benchmarks/startup.py",
        "--rounds 15",
        (
            Row("--help", "≤ 0.35 s", 0.35, "`python -c 'import typer'`"),
            Row("completion", "≤ 0.35 s", 0.35, "`python -c 'import typer'`"),
            Row("version", "≤ 0.35 s", 0.35, "`python -c 'import typer'`"),
        ),
        quick="--rounds 5",
    ),
    Bench(
        "overhead",
        "benchmarks/overhead.py",
        "--hosts 1 --repeats 5",
        (
            Row("1 host, beyond fio", "≤ 1.5 s", 1.5, "`ssh HOST fio`", "PerfKitBenchmarker 6.7 s"),
            Row("1 host, CPU", "≤ 1.2 s", 1.2, PYTHON, "PerfKitBenchmarker 5.8 s"),
        ),
        quick="--hosts 1 --repeats 3",
    ),
    Bench(
        "overhead-8",
        "benchmarks/overhead.py",
        "--hosts 8 --repeats 5",
        (
            Row("8 hosts, beyond fio", "≤ 2.5 s", 2.5, "`ssh HOST fio`", "PerfKitBenchmarker 10 s"),
            Row("8 hosts, CPU", "–", None, PYTHON),
        ),
    ),
    Bench(
        "overhead-32",
        "benchmarks/overhead.py",
        "--hosts 32 --repeats 5",
        (
            Row("32 hosts, beyond fio", "≤ 9 s", 9, "`ssh HOST fio`", "PerfKitBenchmarker 30 s"),
            Row("32 hosts, CPU", "≤ 3.5 s", 3.5, PYTHON, "PerfKitBenchmarker 15.1 s"),
        ),
        limit_s=900,
    ),
    Bench(
        "cells-200",
        "benchmarks/cells.py",
        "--cells 200 --workers 4",
        (
            Row("200 cells, wall", "–", None, PYTHON),
            Row("200 cells, CPU a cell", "≤ 0.45 s", 0.45, PYTHON),
            Row("200 cells, makespan to the ideal", "≤ 1.05", 1.05),
        ),
        adapter=cells_written,
    ),
    Bench(
        "cells",
        "benchmarks/cells.py",
        "--cells 1000 --workers 4",
        (
            Row("1,000 cells, wall", "≤ 240 s", 240, PYTHON),
            Row("1,000 cells, CPU a cell", "≤ 0.45 s", 0.45, PYTHON),
            Row("1,000 cells, makespan to the ideal", "≤ 1.05", 1.05),
        ),
        adapter=cells_written,
        limit_s=900,
        once=True,
    ),
    Bench(
        "cells-ended",
        "benchmarks/cells.py",
        "--cells 10000 --ended 9700 --workers 16 --parallel 32",
        (
            Row("last 300 of 10,000 cells, wall", "–", None, PYTHON),
            Row("last 300 of 10,000 cells, CPU a cell", "–", None, PYTHON),
            Row("last 300 of 10,000 cells, makespan to the ideal", "–", None),
            Row("last 300 of 10,000 cells, end of the matrix", "–", None, PYTHON),
        ),
        adapter=cells_written,
        limit_s=1800,
        once=True,
    ),
    Bench(
        "stored",
        "benchmarks/million.py",
        "--runs 10000 --part list --part 'export csv' --rounds 5",
        (
            Row("list", "≤ 0.3 s", 0.3, "`python -c 'import typer'`"),
            Row("export csv", "≤ 1.5 s", 1.5, "`python -c 'import typer'`"),
            Row("export csv, memory", "≤ 150 MB", 150),
        ),
        quick="--runs 10000 --part list --part 'export csv' --rounds 3",
        adapter=stored_written,
    ),
    Bench(
        "million",
        "benchmarks/million.py",
        "--runs 1000000 --postgres --rounds 5 --part list --part disk+region --part compare "
        "--part regressions --part 'publish a day'",
        (
            Row("list", "≤ 1 s", 1, "`python -c 'import typer'`"),
            Row("disk+region", "≤ 1 s", 1, "`python -c 'import typer'`"),
            Row("compare", "≤ 3 s", 3, "`python -c 'import typer'`"),
            Row("regressions", "–", None, "`python -c 'import typer'`"),
            Row("publish a day", "≤ 60 s", 60, "`python -c 'import typer'`"),
            Row("publish a day, memory", "≤ 300 MB", 300),
        ),
        adapter=stored_written,
        limit_s=3600,
    ),
    Bench(
        "publish",
        "benchmarks/publish.py",
        "--runs 10000 --a-trial 100",
        (
            Row("import", "≤ 40 s", 40, PYTHON),
            Row("publish", "≤ 60 s", 60, PYTHON),
            Row("publish, memory", "≤ 300 MB", 300),
            Row("site, size", "≤ 40 MB", 40),
            Row("report", "≤ 15 s", 15, PYTHON),
            Row("report, memory", "≤ 300 MB", 300),
        ),
        quick="--runs 1000 --a-trial 100 --part build --part report",
        adapter=site_printed,
    ),
    Bench(
        "bucket",
        "benchmarks/bucket.py",
        "--runs 1000 --a-trial 10 --latency-ms 20",
        tuple(
            row
            for part in ("import", "list", "show", "report", "publish", "rebuild")
            for row in (
                Row(f"S3 {part}", "–", None, "the same with a directory"),
                Row(f"S3 {part}, CPU", "–", None, "the same with a directory"),
                Row(f"S3 {part}, requests a run", "–", None),
            )
        ),
        limit_s=1800,
    ),
    Bench(
        "logs",
        "benchmarks/logs.py",
        "--repeats 5",
        (
            Row(
                "per-I/O logs, 7.4 M rows",
                "≤ 0.9 s",
                0.9,
                "DuckDB's read with the same percentiles",
                "fio-plot 43 s",
            ),
            Row("per-I/O logs, CPU", "–", None, "DuckDB's read with the same percentiles"),
            Row(
                "per-I/O logs, memory",
                "≤ 250 MB",
                250,
                "DuckDB's read with the same percentiles",
                "fio-plot 3,300 MB",
            ),
        ),
        quick="--repeats 5 --no-peers",
    ),
    Bench(
        "day",
        "benchmarks/day.py",
        "--repeats 5",
        (
            *(
                row
                for name in ("a day's logs", "a day of 16 jobs", "10 M I/Os")
                for row in (
                    Row(name, "≤ 5 s", 5, "DuckDB's read of the same files to a row a second"),
                    Row(f"{name}, CPU", "–", None, "DuckDB's read of the same files"),
                    Row(f"{name}, memory", "≤ 350 MB", 350, "DuckDB's read of the same files"),
                )
            ),
            Row("phases", "–", None, "NumPy's sort of the same series, 100 times"),
        ),
        quick="--repeats 3 --part phases",
    ),
    Bench(
        "link",
        "benchmarks/link.py",
        "--mb 100 --repeats 5",
        (
            Row("bytes sent over a slow link", "≤ 1.25 of gzip", None, "`gzip -6`"),
            Row("100 MB over a slow link", "–", None, "`ssh HOST 'tar | gzip -6'`, unbroken"),
            Row(
                "100 MB over a slow link, beside the ideal",
                "–",
                None,
                "the bytes at the rate of the link, and 8 round trips a connection",
            ),
            Row("memory of collecting", "≤ 150 MB", 150),
        ),
        limit_s=900,
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
)
