"""What the published site of many imported runs costs: time, memory and size.

    python benchmarks/publish.py [--runs 10000] [--a-trial 100] [--keep DIRECTORY] [--part PART]

Makes its own store: GoBonnieGo files of `--a-trial` results each, so each file is one trial, taken
in by `diskbench results import`. A third of the trials falls off a cliff, as a disk with burst
credit does. Each command then runs in a fresh process:

    publish   `diskbench publish`, the first time
    again     the same, when nothing changed
    report    `diskbench report` of all runs

Targets for 10,000 runs: publish within 60 s, 40 MB of files and 300 MB of memory; report within
15 s and 300 MB. `--keep` keeps the store, so that `--part` (build, publish, again, report) runs one
of them at a time.
"""

import argparse
import json
import os
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import report

LABEL = "bench=site"
TARGETS = {"publish": (60, 300), "again": (60, 300), "report": (15, 300)}
SITE_MB = 40
PARTS = ("build", *TARGETS)
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
BETWEEN_RUNS = timedelta(minutes=3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--a-trial", type=int, default=100)
    parser.add_argument("--keep", type=Path, help="build the store here, or use the one there")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this (default: all)")
    options = parser.parse_args()
    parts = options.part or PARTS
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        return measure(options.keep.absolute(), options, parts)
    with tempfile.TemporaryDirectory(prefix="diskbench-site-") as folder:
        return measure(Path(folder), options, parts)


def measure(folder, options, parts):
    stores = ["--database-url", f"sqlite:///{folder}/bench.db"]
    stores += ["--evidence-url", (folder / "evidence").as_uri()]
    site, page = folder / "site", folder / "report.html"
    diskbench = [sys.executable, "-m", "diskbench"]
    commands = {
        "publish": [*diskbench, "publish", str(site), "-q", *stores],
        "again": [*diskbench, "publish", str(site), "-q", *stores],
        "report": [*diskbench, "report", LABEL, "-q", "-o", str(page), *stores],
    }
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':10}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}")
    met = True
    if "build" in parts and not (folder / "bench.db").exists():
        files = originals(folder / "files", options.runs, options.a_trial)
        argv = [*diskbench, "results", "import", *map(str, files), "--label", LABEL, *stores]
        show("build", silent(argv))
    for name, command in commands.items():
        if name in parts:
            taken = silent(command)
            show(name, taken)
            seconds, megabytes = TARGETS[name]
            met &= taken.wall_s < seconds and taken.peak_mb < megabytes
    if site.is_dir():
        sizes = [path.stat().st_size for path in site.rglob("*") if path.is_file()]
        print(f"site: {len(sizes):,} files, {sum(sizes) / 1e6:.1f} MB")
        met &= sum(sizes) / 1e6 < SITE_MB
    if page.is_file():
        print(f"report: {page.stat().st_size / 1e6:.1f} MB, {report.drawings(page)} drawings")
    print(f"targets {'met' if met else 'MISSED'}")
    return 0 if met else 1


def show(name, taken):
    print(f"{name:10}{taken.wall_s:>9.1f}{taken.cpu_s:>9.1f}{taken.peak_mb:>9.0f}", flush=True)


def silent(argv):
    """The command, with what it prints left out of the table."""
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        return report.timed(argv)
    finally:
        os.dup2(kept, 1)
        os.close(nowhere)
        os.close(kept)


def originals(folder, runs, a_trial):
    """The files of GoBonnieGo, one a trial."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for trial, first in enumerate(range(0, runs, a_trial)):
        chance = Random(trial)
        begin = FIRST + timedelta(hours=6 * trial)
        results = [
            result(begin + n * BETWEEN_RUNS, level(trial, n, a_trial), chance)
            for n in range(min(a_trial, runs - first))
        ]
        document = {
            "version": "1.0.9",
            "gobonniego_directory": "/mnt/disk",
            "num_readers_and_writers": 4,
            "results": results,
        }
        path = folder / f"trial-{trial:04}.json"
        path.write_text(json.dumps(document))
        files.append(path)
    return files


def level(trial, run, runs):
    """The level of a run: a third of the trials ends its credit after a part of its runs."""
    return 0.2 if trial % 3 == 2 and run > runs * 0.4 else 1.0


def result(at, share, chance):
    """One result of GoBonnieGo 1.0.9."""
    noise = 1 + 0.03 * chance.uniform(-1, 1)
    size = 8 * 2**30
    rate = 120e6 * share * noise
    return {
        "start_time": at.isoformat(),
        "write_bytes": size,
        "write_seconds": size / rate,
        "read_bytes": size,
        "read_seconds": size / (1.3 * rate),
        "io_operations": int(15 * 3000 * share * noise),
        "io_seconds": 15.0,
    }


if __name__ == "__main__":
    sys.exit(main())
