"""How long `diskbench --help` and `version` take, as a ratio to the import of typer.

    python benchmarks/startup.py [--rounds 15] [--json FILE]

The commands take turns with their floor, so that a busy machine slows all of them alike; each
figure is the median of the rounds, with its range.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

MAIN = "import sys; from diskbench.cli.main import main; sys.exit(main())"
FLOOR = "python -c 'import typer'"
CASES: dict[str, list[str]] = {
    FLOOR: ["-c", "import typer"],
    "--help": ["-c", MAIN, "--help"],
    "version": ["-c", MAIN, "version"],
}
"""What is started; each but the floor is a row of script/bench."""


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    options = parser.parse_args()
    rounds = options.rounds
    for arguments in CASES.values():
        seconds(arguments)  # compiles and warms the file cache
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(rounds):
        for name, arguments in CASES.items():
            times[name].append(seconds(arguments))
    floor = statistics.median(times[FLOOR])
    for name, found in times.items():
        middle, span = statistics.median(found), f"{min(found) * 1e3:.0f}–{max(found) * 1e3:.0f} ms"
        print(f"{name:<26} {middle * 1e3:5.0f} ms {span:>15} {middle / floor:7.2f}")
    if options.json:
        rows = [
            {"name": name, "unit": "s", "ours": found, "floor": times[FLOOR]}
            for name, found in times.items()
            if name != FLOOR
        ]
        options.json.write_text(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
