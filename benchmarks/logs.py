"""How fast fio's per-I/O logs become a row a second, beside DuckDB's bare reading of them.

    python benchmarks/logs.py [--rows 7_400_000] [--repeats 3] [--json FILE]

Makes its own input: a short fio run, repeated with its times moved on. Each reader runs in a fresh
process, files warm in the page cache; wall time, CPU and the highest memory are its own. The floor
is what DuckDB takes to read the same files with the same percentiles a second, and nothing else; it
runs in turn with ours. The peer's figures in benchmarks/README.md are fio-plot's, measured once
with the same rows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

JOBS = 4
JOB = """
[global]
filename=disk.bin
size=16m
bs=4k
rw=randrw
rwmixread=70
runtime=2
time_based
write_lat_log=fio
[load]
numjobs={jobs}
"""


FLOOR = """
import duckdb, sys
files = sys.argv[1:]
columns = {"time": "BIGINT", "v": "BIGINT", "way": "UTINYINT", "bs": "UBIGINT", "x": "VARCHAR"}
db = duckdb.connect()
db.execute("SET preserve_insertion_order = false")
db.execute(
    "SELECT time // 1000, way, count(*), sum(bs), avg(v), max(v), "
    "quantile_disc(v, [0.5, 0.95, 0.99, 0.999]) "
    f"FROM read_csv({files}, delim=',', header=false, columns={columns}, auto_detect=false) "
    "GROUP BY ALL"
).fetchall()
"""


@dataclass(frozen=True)
class Timing:
    wall_s: float
    cpu_s: float
    peak_mb: float


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=7_400_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return read_series(options.child)
    with tempfile.TemporaryDirectory(prefix="diskbench-logs-") as folder:
        return compare(Path(folder), options)


def compare(folder, options):
    rows = repeat_logs(real_logs(folder), folder / "big", options.rows)
    files = sorted((folder / "big").glob("*.log"))
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"{rows:,} rows in {JOBS} files, {size:.0f} MB\n")
    print(f"{'reader':32}{'wall s':>9}{'CPU s':>9}{'MB':>8}")
    readers = {
        "diskbench series": [sys.executable, __file__, "--child", *map(str, files)],
        "DuckDB, with percentiles (floor)": [sys.executable, "-c", FLOOR, *map(str, files)],
    }
    timings = {name: [] for name in readers}
    for _ in range(options.repeats):
        for name, argv in readers.items():
            one = once(name, argv)
            timings[name].append(one)
            print(f"{name:32}{one.wall_s:>9.2f}{one.cpu_s:>9.2f}{one.peak_mb:>8.0f}", flush=True)
    if options.json:
        write_rows(options.json, *timings.values())
    return 0


def write_rows(path, ours, floors):
    """The rows of script/bench."""
    columns = (
        ("per-I/O logs, 7.4 M rows", "s", "wall_s"),
        ("per-I/O logs, CPU", "s", "cpu_s"),
        ("per-I/O logs, memory", "MB", "peak_mb"),
    )
    rows = [
        {
            "name": name,
            "unit": unit,
            "ours": [getattr(one, column) for one in ours],
            "floor": [getattr(one, column) for one in floors],
        }
        for name, unit, column in columns
    ]
    path.write_text(json.dumps({"rows": rows}))


def real_logs(folder):
    """Latency logs of a real run of two seconds."""
    source = folder / "seed"
    source.mkdir()
    (source / "job.fio").write_text(JOB.format(jobs=JOBS))
    subprocess.run(["fio", "job.fio"], cwd=source, check=True, stdout=subprocess.DEVNULL)
    return sorted(source.glob("fio_lat.*.log"))


def repeat_logs(seed, folder, rows):
    """The same I/Os again and again, each time later, until there are `rows` of them."""
    folder.mkdir()
    each = rows // len(seed)
    written = 0
    for path in seed:
        parsed = [line.split(b",", 1) for line in path.read_bytes().splitlines()]
        times = [int(cells[0]) for cells in parsed]
        rests = [b"," + cells[1] + b"\n" for cells in parsed]
        with (folder / path.name).open("wb") as out:
            left, shift = each, 0
            while left > 0:
                part = min(left, len(times))
                pairs = zip(times[:part], rests, strict=False)
                out.write(b"".join(b"%d%b" % (at + shift, rest) for at, rest in pairs))
                left -= part
                shift += times[-1] + 1
        written += each
    return written


def once(name, argv):
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{name} ended with {process.returncode}: {errors.read().decode()[-500:]}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Timing(wall_s, cpu_s, usage.ru_maxrss / 1024)


def read_series(paths):
    from diskbench.store.series import write_series

    with tempfile.TemporaryDirectory() as folder:
        write_series([Path(path) for path in paths], Path(folder, "series.parquet"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
