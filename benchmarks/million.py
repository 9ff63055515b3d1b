"""What commands cost over a store of very many runs.

    python benchmarks/million.py [--runs 1000000] [--keep DIRECTORY] [--json FILE] [--part NAME]
                                 [--postgres | --database-url URL] [--rounds 1]

Makes a synthetic store (million_rows.py): in a SQLite file by default, in a PostgreSQL server of
its own with `--postgres`, or in the empty database at `--database-url`. One that was filled before
is used as it is, so `--keep` and `--database-url` allow one part at a time; `--keep` also keeps the
data of the PostgreSQL server, which ends with the benchmark, and the site. Each command then runs
in a fresh process. CPU seconds are those of the command and not of a database server; wall seconds
are only worth something on an idle machine. `floor` is `python -c 'import typer'`, measured in turn
with the commands.

`publish again` is a site of all runs in which nothing changed (million_site.py makes it look
published), `publish a day` the same after `--day` configurations were measured four times more.

Targets: list and selections within 1 s, compare within 3 s, a new day published within 60 s;
list of 10,000 runs within 0.3 s, export of 10,000 runs (30,000 rows) within 1.5 s and 150 MB.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.rigs.postgres import running_postgres  # noqa: E402 - the tests' own server

import million_rows  # noqa: E402 - a neighbour
import publish  # noqa: E402

REGION, DISK, OTHER = million_rows.REGIONS[3], million_rows.DISKS[1], million_rows.DISKS[2]
SINCE = "2026-10-31"
SITE = "SITE"
"""Stands for the folder of the site."""
AT = [f"disk={DISK}", "-f", f"region={REGION}"]
PARTS = {
    "list": ["results", "list"],
    "list --wide": ["results", "list", "--wide", "--limit", "50"],
    "disk+region": ["results", "list", *AT],
    "disk+region --since": ["results", "list", *AT, "--since", SINCE],
    "--since": ["results", "list", "--since", SINCE],
    "label": ["results", "list", "-f", "label.team=team-7"],
    "compare": ["compare", f"disk={DISK}", f"disk={OTHER}", "-f", f"region={REGION}"],
    "regressions": ["regressions", *AT],
    "publish again": ["publish", SITE, "-q"],
    "publish a day": ["publish", SITE, "-q"],
    "export csv": ["results", "export", "--format", "csv"],
    "export json": ["results", "export", "--format", "json"],
    "export parquet": ["results", "export", "--format", "parquet"],
    "export prometheus": ["results", "export", "--format", "prometheus"],
}
POSTGRES = ("max_wal_size=8GB", "maintenance_work_mem=512MB")
"""Settings that only filling needs."""
MOST_EXPORTED = 100_000
"""Of a larger store only the newest day is exported."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="make the store and its site here, or use them")
    parser.add_argument("--postgres", action="store_true", help="in a PostgreSQL of its own")
    parser.add_argument("--database-url", help="a database that is empty, or was filled before")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this (default: all)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--day", type=int, default=25, help="configurations of a new day")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="diskbench-million-"))
        place = (options.keep or Path(folder)).absolute()
        place.mkdir(parents=True, exist_ok=True)
        url = options.database_url
        if url is None and options.postgres:
            data = place / "postgres" if options.keep else None
            url = stack.enter_context(running_postgres(*POSTGRES, keep=data))
        if url is None:
            url = f"sqlite:///{place}/million.db"
        return measure(url, options, place)


def measure(url, options, folder):
    filled_s, runs = filled(url, options.runs, folder)
    kind = url.partition(":")[0]
    print(f"{runs:,} runs in {kind}, filled in {filled_s:.0f} s; load {os.getloadavg()[0]:.1f}")
    print(f"{'':20}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}")
    found = {name: [] for name in ("floor", *(options.part or PARTS))}
    site = folder / "site"
    for _ in range(options.rounds):
        for name, taken in found.items():
            prepare(name, url, site, options.day)
            argv = [str(site) if word == SITE else word for word in command(name, runs)]
            if name != "floor":
                argv = [sys.executable, "-m", "diskbench", *argv, "--database-url", url]
            taken.append(publish.silent(argv))
            print_line(name, taken[-1])
    if options.json:
        options.json.write_text(
            json.dumps(
                {
                    "runs": runs,
                    "database": kind,
                    "parts": {name: [vars(one) for one in taken] for name, taken in found.items()},
                },
                indent=1,
            )
        )
    return 0


def command(name, runs):
    if name == "floor":
        return [sys.executable, "-c", "import typer"]
    newest = ["--since", SINCE] if name.startswith("export") and runs > MOST_EXPORTED else []
    return [*PARTS[name], *newest]


def prepare(name, url, site, configurations):
    """What a part needs: a site, and new runs. In a process of its own, as `filled`."""
    if not name.startswith("publish"):
        return
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(make_ready, url, site, configurations if name.endswith("day") else 0).result()


def make_ready(url, site, configurations):
    """A site of all runs where there is none; then a day of so many configurations."""
    import million_site
    from diskbench.store.database import open_database

    engine = open_database(url)
    if site.exists():
        million_site.restamp_site(engine, site)
    else:
        part = site.with_name("site.part")
        shutil.rmtree(part, ignore_errors=True)  # of a benchmark that was stopped
        million_site.make_site(engine, part)
        part.rename(site)
    if configurations:
        million_site.add_day(engine, site.parent / "example", configurations)
    engine.dispose()


def print_line(name, taken):
    print(f"{name:20}{taken.wall_s:>9.2f}{taken.cpu_s:>9.2f}{taken.peak_mb:>9.0f}", flush=True)


def filled(url, runs, folder):
    """Seconds that it took to fill the database, and how many runs it has. In a process of its own:
    the peak memory of a process counts as that of those that it starts."""
    started = time.perf_counter()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(fill, url, runs, folder / "example").result()
    return time.perf_counter() - started, there


def fill(url, runs, scratch):
    """Fill the database where it is empty; returns how many runs it has."""
    from diskbench.store.database import open_database
    from diskbench.store.query import count_runs

    engine = open_database(url)
    if not count_runs(engine):
        million_rows.fill(engine, runs, scratch)
    there = count_runs(engine)
    engine.dispose()
    return there


if __name__ == "__main__":
    sys.exit(main())
