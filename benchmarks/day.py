"""A day's logs: from the files that fio leaves to a page, as `diskbench report` makes it.

    python benchmarks/day.py [--repeats 5] [--part all] [--keep DIRECTORY] [--json FILE]

Two runs are made and imported (seeded, kept out of git): a day of per-second logs of 16 jobs (bw,
iops and clat: 4.1 M rows), and 10 M rows of a log with a row an I/O. `diskbench report` reads
them, finds the phases, judges and draws, in a fresh process, with nothing kept from before: both on
one page, and each on a page of its own, which has the charts of single seconds, too. The floor is
what DuckDB takes to read the same files to a row a second, and nothing else. `--part phases`
measures the search for phases alone, in an hour's series of each course, beside NumPy's sort of the
same values a hundred times. Targets of each page: 5 s and 350 MB.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import report

DAY_S = 86_400
JOBS = 16
IO_ROWS = 10_000_000
IO_FILES = 4
BLOCK = 4096
TARGET_S, TARGET_MB = 5, 350
PAGES = (
    ("a day's logs", report.LABEL, ("day", "ios")),
    ("a day of 16 jobs", "logs=day", ("day",)),
    ("10 M I/Os", "logs=ios", ("ios",)),
)
"""Name of the row, selection of the runs, directories of their logs."""
FLOOR = """
import duckdb, sys
from pathlib import Path
folder = Path(sys.argv[1])
columns = {"time": "BIGINT", "v": "BIGINT", "way": "UTINYINT", "bs": "UBIGINT", "x": "VARCHAR"}
db = duckdb.connect()
db.execute("SET preserve_insertion_order = false")
for pattern in sys.argv[2:]:
    files = [str(path) for path in folder.glob(f"{pattern}/*.log")]
    read = f"read_csv({files}, delim=',', header=false, columns={columns}, auto_detect=false)"
    quantile = "quantile_disc(v, [0.5, 0.95, 0.99, 0.999])" if "ios" in pattern else "avg(v)"
    db.execute(
        f"SELECT time // 1000, way, count(*), sum(bs), avg(v), max(v), {quantile} "
        f"FROM {read} GROUP BY ALL"
    ).fetchall()
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--part", choices=("all", "page", "phases"), default="all")
    parser.add_argument("--seconds", type=int, default=DAY_S)
    parser.add_argument("--rows", type=int, default=IO_ROWS)
    parser.add_argument("--keep", type=Path, help="build the store here, or use the one there")
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    options = parser.parse_args()
    rows, met = [], True
    if options.part != "phases":
        with tempfile.TemporaryDirectory(prefix="diskbench-day-") as made:
            folder = (options.keep or Path(made)).absolute()
            folder.mkdir(parents=True, exist_ok=True)
            found, met = pages(folder, options)
            rows += found
    if options.part != "page":
        rows.append(phases(options.repeats))
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}))
    return 0 if met else 1


def pages(folder, options):
    """The rows of the whole way to each page, and whether they meet the targets."""
    database, evidence = f"sqlite:///{folder}/bench.db", (folder / "evidence").as_uri()
    if not (folder / "bench.db").exists():
        build(folder, database, evidence, options)
    rows, met = [], True
    for name, selection, logs in PAGES:
        page = folder / f"{logs[0]}-{len(logs)}.html"
        argv = [sys.executable, "-m", "diskbench", "report", selection, "-q", "-o", str(page)]
        argv += ["--database-url", database, "--evidence-url", evidence]
        floor = [sys.executable, "-c", FLOOR, str(folder / "logs"), *logs]
        ours, floors = [], []
        for _ in range(options.repeats):
            forget(folder / "evidence")
            ours.append(report.timed(argv))
            floors.append(report.timed(floor))
        again = report.timed(argv)
        print(f"{name}: {page.stat().st_size / 1e6:.2f} MB", flush=True)
        for what, one in (("report", ours), ("floor", floors), ("again", [again])):
            wall, cpu = (statistics.median(getattr(t, k) for t in one) for k in ("wall_s", "cpu_s"))
            peak = max(t.peak_mb for t in one)
            print(f"    {what:8}{wall:>8.2f} s{cpu:>8.2f} s CPU{peak:>7.0f} MB", flush=True)
        met &= statistics.median(t.wall_s for t in ours) <= TARGET_S
        met &= max(t.peak_mb for t in ours) <= TARGET_MB
        rows += rows_of(name, ours, floors)
    print(f"target {'met' if met else 'MISSED'}")
    return rows, met


def rows_of(name, ours, floors):
    """The rows of one page."""
    columns = (("", "s", "wall_s"), (", CPU", "s", "cpu_s"), (", memory", "MB", "peak_mb"))
    return [
        {
            "name": f"{name}{of}",
            "unit": unit,
            "ours": [getattr(t, column) for t in ours],
            "floor": [getattr(t, column) for t in floors],
        }
        for of, unit, column in columns
    ]


def forget(evidence):
    """Remove what a report keeps beside the evidence, so that the next one reads the logs."""
    for path in evidence.rglob("*.parquet"):
        path.unlink()
    for path in evidence.rglob("derived"):
        shutil.rmtree(path)


def build(folder, database, evidence, options):
    """The logs of both runs, and a store of them."""
    import duckdb

    document = report.real_document(folder)
    db = duckdb.connect()
    for name in ("day", "ios"):
        (folder / "logs" / name).mkdir(parents=True)
    for job in range(1, JOBS + 1):
        # A third of the day at the burst rate, then at the level of the disk; 5 % of noise.
        level = f"(CASE WHEN n < {options.seconds} / 3 THEN 200 ELSE 60 END)"
        noise = f"(1 + 0.05 * ((hash(n * {JOBS} + {job}) % 2001)::DOUBLE / 1000 - 1))"
        rate = f"round({level} * {noise})::BIGINT"
        columns = {"iops": rate, "bw": f"{rate} * 4", "clat": f"(1e9 // {rate})::BIGINT"}
        for kind, value in columns.items():
            text = f"(n * 1000) || ', ' || ({value}) || ', 0, 0, 0'"
            seconds = f"range(1, {options.seconds} + 1) r(n)"
            write(db, text, seconds, folder, f"day/fio_{kind}.{job}")
    each = options.rows // IO_FILES
    for job in range(1, IO_FILES + 1):
        value = f"(200000 + hash(n * {IO_FILES} + {job}) % 900000)"
        text = f"(n // 5) || ', ' || {value} || ', ' || (n % 2) || ', {BLOCK}, 0'"
        write(db, text, f"range(0, {each}) r(n)", folder, f"ios/fio_lat.{job}")
    totals = {"day": (int(options.seconds * JOBS * 106.7), options.seconds)}
    totals["ios"] = (options.rows // 2, each // 5 / 1000)
    for number, (name, (ios, seconds)) in enumerate(totals.items()):
        place = folder / "logs" / name
        one = json.loads(json.dumps(document))
        one["timestamp"] += 100_000 * number
        one["timestamp_ms"] = 1000 * one["timestamp"]
        job = one["jobs"][0]
        job["job_runtime"] = int(1000 * seconds)
        figures = {
            "total_ios": ios,
            "io_bytes": ios * BLOCK,
            "io_kbytes": ios * BLOCK // 1024,
            "runtime": int(1000 * seconds),
            "iops": ios / seconds,
            "bw_bytes": int(ios * BLOCK / seconds),
        }
        job["read"] |= figures
        if name == "ios":
            job["write"] = json.loads(json.dumps(job["read"]))
        (place / "fio.json").write_text(json.dumps(one))
        argv = [sys.executable, "-m", "diskbench", "results", "import", str(place)]
        argv += ["--label", report.LABEL, "--label", f"logs={name}"]
        report.timed([*argv, "--database-url", database, "--evidence-url", evidence])
    size = sum(path.stat().st_size for path in (folder / "logs").rglob("*.log")) / 1e6
    print(f"{size:.0f} MB of logs", flush=True)


def write(db, text, source, folder, name):
    path = folder / "logs" / f"{name}.log"
    rows = f"SELECT {text} AS line FROM {source}"  # noqa: S608 - the texts of this file
    db.execute(
        f"COPY ({rows}) TO '{path}' "
        "(FORMAT csv, HEADER false, DELIMITER '\x1f', QUOTE '', ESCAPE '')"
    )


def phases(repeats):
    """The row of the search for phases alone."""
    import numpy as np
    from tests.rigs.synthetic import Noise, bucket, flat

    from diskbench.analysis.phases import step_phases

    noise = Noise(sd=0.03, phi=0.3)
    courses = [flat(1000, 3600, noise, seed=n) for n in range(3)]
    courses += [bucket(2e6, 3000, 100, 3600, noise, seed=n) for n in range(3)]
    ours, floors = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        for values in courses:
            step_phases(values, values * BLOCK)
        middle = time.perf_counter()
        for values in courses:
            for _ in range(100):
                np.sort(values)
        ours.append(middle - start)
        floors.append(time.perf_counter() - middle)
    print(f"phases  {statistics.median(ours):>8.2f} s (floor {statistics.median(floors):.2f} s)")
    return {"name": "phases", "unit": "s", "ours": ours, "floor": floors}


if __name__ == "__main__":
    sys.exit(main())
