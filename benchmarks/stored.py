"""What a team's store costs: taking runs in, listing, exporting, reporting and publishing them.

    python benchmarks/stored.py [--runs 10000] [--rounds 5] [--part PART]… [--keep DIRECTORY]
    python benchmarks/stored.py --runs 50000                    (a team's whole store)

Makes its own store: GoBonnieGo files of `--a-trial` results each, so that each file is one trial,
taken in by `diskbench results import`. A third of the trials falls off a cliff, as a disk with
burst credit does. Each command then runs in a fresh process: list and export `--rounds` times, in
turn with their floor, `python -c 'import typer'`; the others once, and `publish again` after
nothing changed. `--keep` keeps the store, and uses the one that is there.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

LABEL = "bench=site"
FLOOR = [sys.executable, "-c", "import typer"]
OFTEN = {"list": ["results", "list"], "export csv": ["results", "export", "--format", "csv"]}
"""Commands that take less than some seconds."""
ONCE = {
    "report": ["report", LABEL, "-q", "-o", "PLACE/report.html"],
    "publish": ["publish", "PLACE/site", "-q"],
    "publish again": ["publish", "PLACE/site", "-q"],
}
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
BETWEEN_RUNS = timedelta(minutes=3)


@dataclass(frozen=True)
class Cost:
    """One process: wall and CPU seconds, largest resident set in MB."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def main() -> int:
    """Measure, print, and write the rows of script/bench."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--a-trial", type=int, default=100, help="runs of one trial")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", choices=[*OFTEN, *ONCE], action="append", help="default: all")
    parser.add_argument("--keep", type=Path, help="make the store here, or use the one there")
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':14}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}")
    with tempfile.TemporaryDirectory(prefix="diskbench-store-", dir="/var/tmp") as folder:
        place = (options.keep or Path(folder)).absolute()
        place.mkdir(parents=True, exist_ok=True)
        rows = measured(place, options)
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}))
    return 0


def measured(place: Path, options: argparse.Namespace) -> list[dict[str, object]]:
    """The rows of script/bench."""
    stores = ["--database-url", f"sqlite:///{place}/bench.db"]
    stores += ["--evidence-url", (place / "evidence").as_uri()]
    parts = options.part or [*OFTEN, *ONCE]
    costs: dict[str, list[Cost]] = defaultdict(list)

    def command(words: list[str]) -> list[str]:
        words = [word.replace("PLACE", str(place)) for word in words]
        return [sys.executable, "-m", "diskbench", *words]

    def run(name: str, argv: list[str]) -> None:
        costs[name].append(once(argv))
        cost = costs[name][-1]
        print(f"{name:14}{cost.wall_s:>9.2f}{cost.cpu_s:>9.2f}{cost.peak_mb:>9.0f}", flush=True)

    if not (place / "bench.db").exists():
        files = originals(place / "files", options.runs, options.a_trial)
        run("import", command(["results", "import", *files, "--label", LABEL, *stores]))
    for _ in range(options.rounds):
        for name, words in OFTEN.items():
            if name in parts:
                run(f"{name}, floor", FLOOR)
                run(name, command([*words, *stores[:2]]))
    for name, words in ONCE.items():
        if name in parts:
            run(name, command([*words, *stores]))
    rows = [row for name in costs if not name.endswith(", floor") for row in rows_of(name, costs)]
    if (place / "site").is_dir():
        size = sum(path.stat().st_size for path in (place / "site").rglob("*") if path.is_file())
        print(f"site: {size / 1e6:.1f} MB")
        rows.append({"name": "site, size", "unit": "MB", "ours": [size / 1e6], "floor": None})
    return rows


def rows_of(name: str, costs: dict[str, list[Cost]]) -> list[dict[str, object]]:
    """The rows of one command."""
    floor = [one.wall_s for one in costs.get(f"{name}, floor", ())]
    walls, peaks = [one.wall_s for one in costs[name]], [one.peak_mb for one in costs[name]]
    return [
        {"name": name, "unit": "s", "ours": walls, "floor": floor or None},
        {"name": f"{name}, memory", "unit": "MB", "ours": peaks, "floor": None},
    ]


def once(argv: list[str]) -> Cost:
    """One command in a process of its own; what it prints is left out. Ends this program when it
    fails."""
    started = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(argv[:6])} ended with {process.returncode}")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def originals(folder: Path, runs: int, a_trial: int) -> list[str]:
    """Files of GoBonnieGo 1.0.9, one a trial."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for trial, first in enumerate(range(0, runs, a_trial)):
        chance = Random(trial)
        begin = FIRST + timedelta(hours=6 * trial)
        # A third of the trials ends its credit after a part of its runs.
        shares = [0.2 if trial % 3 == 2 and n > a_trial * 0.4 else 1.0 for n in range(a_trial)]
        document = {
            "version": "1.0.9",
            "gobonniego_directory": "/mnt/disk",
            "num_readers_and_writers": 4,
            "results": [
                result(begin + n * BETWEEN_RUNS, shares[n], chance)
                for n in range(min(a_trial, runs - first))
            ],
        }
        path = folder / f"trial-{trial:04}.json"
        path.write_text(json.dumps(document))
        files.append(str(path))
    return files


def result(at: datetime, share: float, chance: Random) -> dict[str, object]:
    """One result of GoBonnieGo 1.0.9."""
    noise = 1 + 0.03 * chance.uniform(-1, 1)
    size, rate = 8 * 2**30, 120e6 * share * noise
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
