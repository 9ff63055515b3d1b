"""How long a report on many runs takes, and how large it is.

    python benchmarks/report.py [--runs 500] [--seconds 3600] [--keep DIRECTORY]

Makes its own store: runs of one step, taken in from fio's JSON (of a real fio run, with its totals
changed) and averaged logs of a row a second: two thirds keep a level, a third falls off a cliff,
one in ten stalls. Each command runs in a fresh process:

    series    `load_series` of every run, from the Parquet beside the evidence
    first     `diskbench report`, when nothing was read yet: logs → series → phases
    again     the same report, from what the first one kept

CPU seconds are those of all its threads; wall seconds are only worth something on an idle machine.
Our targets for 500 runs of an hour: below 60 s and below 20 MB (of `again`: a run keeps its
series and phases when it ends or is imported, so only a store without them sees `first`).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

TARGET_S = 60
TARGET_MB = 20
BLOCK = 4096
JOB = "[disk]\nfilename=disk.bin\nsize=8m\nbs=4k\nrw=randread\niodepth=32\nioengine=libaio\n"
LABEL = "bench=report"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--keep", type=Path, help="build the store here, or use the one there")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return read_all(options.child)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        return compare(options.keep.absolute(), options)
    with tempfile.TemporaryDirectory(prefix="diskbench-report-") as folder:
        return compare(Path(folder), options)


def compare(folder, options):
    database, evidence = f"sqlite:///{folder}/bench.db", (folder / "evidence").as_uri()
    if not (folder / "bench.db").exists():
        started = time.perf_counter()
        build(folder, database, evidence, options.runs, options.seconds)
        took = time.perf_counter() - started
        print(f"built {options.runs} runs of {options.seconds:,} s in {took:.0f} s")
    page = folder / "report.html"
    argv = [sys.executable, "-m", "diskbench", "report", LABEL, "-q", "-o", str(page)]
    argv += ["--database-url", database, "--evidence-url", evidence]
    unread = not list((folder / "evidence").rglob("*.parquet"))
    first = timed(argv) if unread else None
    again = timed(argv)
    series = timed([sys.executable, __file__, "--child", database, evidence])
    size_mb = page.stat().st_size / 1e6
    print(f"{'':10}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}{'CPU × series':>14}")
    for name, one in (("series", series), ("first", first), ("again", again)):
        if one:
            ratio = one.cpu_s / series.cpu_s
            print(f"{name:10}{one.wall_s:>9.1f}{one.cpu_s:>9.1f}{one.peak_mb:>9.0f}{ratio:>14.1f}")
    met = again.wall_s < TARGET_S and size_mb < TARGET_MB
    print(
        f"{size_mb:.1f} MB ({page.stat().st_size:,} bytes), {drawings(page)} drawings; target "
        f"below {TARGET_S} s and {TARGET_MB} MB: {'met' if met else 'MISSED'}"
    )
    return 0 if met else 1


def drawings(page):
    return page.read_text(encoding="utf-8").count("<svg")


def build(folder, database, evidence, runs, seconds):
    """A store of `runs` imported runs."""
    from diskbench.store.database import open_database

    document = real_document(folder)
    open_database(database).dispose()  # its tables are made once, before others write
    logs = folder / "logs"
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        made = [
            pool.submit(write_run_files, logs / f"run-{n:04}", document, n, seconds)
            for n in range(runs)
        ]
        for one in made:
            one.result()
    for n in range(runs):
        take_in(logs / f"run-{n:04}", database, evidence)


def real_document(folder):
    """fio's JSON of a real run of a second."""
    (folder / "job.fio").write_text(JOB)
    argv = ["fio", "--output-format=json+", "job.fio"]
    done = subprocess.run(argv, cwd=folder, check=True, capture_output=True)
    return json.loads(done.stdout)


def write_run_files(place, document, number, seconds):
    """What fio leaves of a run: its document, and logs with a row a second."""
    place.mkdir(parents=True)
    rates = course(number, seconds)
    latency = np.where(rates > 0, 32e9 / np.maximum(rates, 1), 0).astype(int)
    for kind, values in (("iops", rates), ("bw", rates * BLOCK // 1024), ("lat", latency)):
        rows = [
            f"{1000 * second}, {value}, 0, 0, 0, 0\n"
            for second, value in enumerate(values.tolist(), 1)
            if rates[second - 1] > 0
        ]
        (place / f"fio_{kind}.1.log").write_text("".join(rows))
    document["timestamp"] += 7200
    document["timestamp_ms"] = 1000 * document["timestamp"] + number
    job = document["jobs"][0]
    job["job_runtime"] = 1000 * seconds
    job["read"] |= {
        "total_ios": int(rates.sum()),
        "io_bytes": int(rates.sum()) * BLOCK,
        "io_kbytes": int(rates.sum()) * BLOCK // 1024,
        "runtime": 1000 * seconds,
        "iops": float(rates.mean()),
        "bw_bytes": int(rates.mean() * BLOCK),
    }
    (place / "fio.json").write_text(json.dumps(document))


def course(number, seconds):
    """Whole I/Os in each second of run `number`: seeded."""
    from tests.rigs.synthetic import Noise, bucket, flat, with_stalls

    noise = Noise(sd=0.03, phi=0.3)
    if number % 3 == 2:
        credits_ = 2900 * seconds * (0.3 + 0.4 * (number % 7) / 6)
        values = bucket(credits_, 3000, 100 + number % 50, seconds, noise, seed=number)
    else:
        values = flat(1000 + 10 * (number % 200), seconds, noise, seed=number)
    if number % 10 == 0:
        at = (137 * (number + 1)) % max(seconds - 10, 1)
        values = with_stalls(values, [(at, at + 3)])
    return values.round().astype(int)


def take_in(place, database, evidence):
    """As `diskbench results import` does."""
    from diskbench.store.database import open_database
    from diskbench.store.evidence import open_evidence
    from diskbench.store.import_sources import read_sources
    from diskbench.store.imports import import_source
    from diskbench.store.rebuild import rows_of, write_run

    engine, store = open_database(database), open_evidence(evidence)
    for source in read_sources(sorted(place.iterdir())).sources:
        key, _, value = LABEL.partition("=")
        for manifest in import_source(store, source, labels={key: value}, version="0"):
            write_run(engine, rows_of(store, manifest))
    engine.dispose()


def read_all(urls):
    from diskbench import load_runs, load_series

    database, evidence = urls
    for run_id in load_runs(database=database)["run_id"]:
        assert load_series(run_id, evidence=evidence).height
    return 0


@dataclass(frozen=True)
class Timing:
    wall_s: float
    cpu_s: float
    peak_mb: float


def timed(argv):
    """One command in a process of its own."""
    started = time.perf_counter()
    process = subprocess.Popen(argv)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(argv)} ended with {process.returncode}")
    wall_s = time.perf_counter() - started
    return Timing(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    sys.exit(main())
