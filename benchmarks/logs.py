"""How fast fio's per-I/O logs become a row a second, against the tools that others use.

    python benchmarks/logs.py [--rows 7_400_000] [--peer-rows 740_000] [--no-peers] [--json FILE]

Makes its own input: a short fio run, repeated with its times moved on. Each reader runs in a fresh
process, files warm in the page cache; wall time, rows a second and the highest memory are its
own. The floor is what DuckDB takes to read the same files with the same percentiles a second, and
nothing else; it runs in turn with ours. fio's script (fiologparser.py, shipped with Debian's fio)
gets `--peer-rows` rows, because its time grows with rows times seconds, and only four columns,
because it fails on the fifth that fio writes since 3.18; fio-plot (dependency group `peers`) gets
as many rows.
Our targets: 1.3 times the floor, below 250 MB for 7.4 M rows.
"""

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TARGET_RATIO = 1.3
TARGET_MB = 250
JOBS = 4
FIOLOGPARSER = (
    Path("/usr/share/doc/fio/fiologparser.py.gz"),
    Path("/usr/share/fio/fiologparser.py"),
    Path("/usr/bin/fiologparser.py"),
)
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
    name: str
    rows: int
    wall_s: float
    cpu_s: float
    peak_mb: float

    @property
    def rows_per_s(self):
        return self.rows / self.wall_s


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=7_400_000)
    parser.add_argument("--peer-rows", type=int, default=740_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true", help="only ours and the floor")
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return read_series(options.child)
    with tempfile.TemporaryDirectory(prefix="diskbench-logs-") as folder:
        return compare(Path(folder), options)


def compare(folder, options):
    big, small = folder / "big", folder / "small"
    seed = real_logs(folder)
    rows = repeat_logs(seed, big, options.rows)
    size = sum(path.stat().st_size for path in big.iterdir()) / 1e6
    print(f"{rows:,} rows in {JOBS} files, {size:.0f} MB\n")
    child = [sys.executable, __file__, "--child"]
    readers = {
        "diskbench series": [*child, *logs(big)],
        "DuckDB, with percentiles (floor)": [sys.executable, "-c", FLOOR, *logs(big)],
    }
    timings = {name: [] for name in readers}
    for _ in range(options.repeats):
        for name, argv in readers.items():
            timings[name].append(once(name, rows, argv))
    ours, floors = timings.values()
    best_of_ours, best_of_floors = (
        min(all_, key=lambda one: one.wall_s) for all_ in (ours, floors)
    )
    print_table(best_of_ours, [best_of_floors])
    if options.json:
        write_rows(options.json, ours, floors)
    ratio = statistics.median(
        one.wall_s / other.wall_s for one, other in zip(ours, floors, strict=True)
    )
    peak_mb = max(one.peak_mb for one in ours)
    met = ratio <= TARGET_RATIO and peak_mb < TARGET_MB
    print(
        f"\n{ratio:.2f} of the floor, {peak_mb:.0f} MB; target {TARGET_RATIO} and {TARGET_MB} MB: "
        f"{'met' if met else 'MISSED'}"
    )
    if not options.no_peers:
        beside_peers(folder, seed, small, child, options)
    return 0 if met else 1


def beside_peers(folder, seed, small, child, options):
    """Print the table with the programs that others use, on fewer rows."""
    peer_rows = repeat_logs(seed, small, options.peer_rows)
    print(f"\nfor the peers {peer_rows:,} rows")
    ours = best("diskbench series", peer_rows, [*child, *logs(small)], options.repeats)
    timings, notes = [], []
    for name, argv, note in peers(folder, small):
        if argv is None:
            notes.append(f"{name}: left out, {note}")
            continue
        timings.append(best(name, peer_rows, argv, 1, cwd=small))
    print_table(ours, timings)
    for note in notes:
        print(note)


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


def logs(folder):
    return [str(path) for path in sorted(folder.glob("*.log"))]


def peers(folder, small):
    """(name, command or None, why not) of every other reader."""
    script = fiologparser(folder)
    why = "fiologparser.py is not on this machine (Debian: package fio)"
    narrow = folder / "four-columns"
    narrow.mkdir()
    for path in small.glob("*.log"):
        lines = path.read_bytes().splitlines()
        text = b"\n".join(b",".join(line.split(b",")[:4]) for line in lines)
        (narrow / path.name).write_bytes(text + b"\n")
    arguments = ["-i", "1000", *logs(narrow)]
    yield "fiologparser.py (1 s sums)", script and [sys.executable, script, *arguments], why
    yield "fiologparser.py -a", script and [sys.executable, script, "-a", *arguments], why
    # fio-plot wants its own names: <pattern>-iodepth-<n>-numjobs-<n>_<kind>.<job>.log
    why = "not installed (pip install --group peers)"
    program = shutil.which("fio-plot") or Path(sys.executable).with_name("fio-plot")
    if not Path(program).exists():
        yield "fio-plot -g -t lat (reads and draws)", None, why
        return
    own = folder / "fio-plot"
    own.mkdir()
    for path in small.glob("*.log"):
        job = path.name.split(".")[1]
        os.link(path, own / f"randrw-iodepth-1-numjobs-{JOBS}_lat.{job}.log")
    argv = [str(program), "-i", str(own), "-T", "x", "-g", "-t", "lat", "-r", "randrw"]
    argv += ["-d", "1", "-n", str(JOBS), "-o", str(folder / "plot.png")]
    yield "fio-plot -g -t lat (reads and draws)", argv, why


def fiologparser(folder):
    for path in FIOLOGPARSER:
        if not path.exists():
            continue
        if path.suffix != ".gz":
            return str(path)
        plain = folder / "fiologparser.py"
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        return str(plain)
    return None


def best(name, rows, argv, repeats, cwd=None):
    """The fastest of `repeats` runs in a process of its own."""
    return min(
        (once(name, rows, argv, cwd) for _ in range(repeats)), key=lambda timing: timing.wall_s
    )


def once(name, rows, argv, cwd=None):
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(argv, cwd=cwd, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{name} ended with {process.returncode}: {errors.read().decode()[-500:]}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Timing(name, rows, wall_s, cpu_s, usage.ru_maxrss / 1024)


def read_series(paths):
    from diskbench.store.series import write_series

    with tempfile.TemporaryDirectory() as folder:
        write_series([Path(path) for path in paths], Path(folder, "series.parquet"))
    return 0


def print_table(ours, timings):
    head = (
        f"{'reader':38}{'rows':>12}{'wall s':>9}{'CPU s':>9}{'MB':>8}{'rows/s':>13}{'ours is':>12}"
    )
    print(head)
    print("-" * len(head))
    for timing in (ours, *timings):
        ratio = (
            ""
            if timing.name == ours.name
            else f"{ours.rows_per_s / timing.rows_per_s:,.1f} × faster"
        )
        print(
            f"{timing.name:38}{timing.rows:>12,}{timing.wall_s:>9.2f}{timing.cpu_s:>9.2f}"
            f"{timing.peak_mb:>8.0f}{timing.rows_per_s:>13,.0f}  {ratio}"
        )


if __name__ == "__main__":
    sys.exit(main())
