"""How long `diskbench --help` and `version` take, as a ratio to two floors.

    python benchmarks/startup.py [--rounds 15] [--json FILE]

The floors are `python -c pass` and `python -c 'import typer'`; the peer is the least typer
program that takes an option, because typer imports pydantic to parse one. The commands take turns,
so that a busy machine slows all of them alike; each figure is the median of the rounds, with its
range.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

MAIN = "import sys; from diskbench.cli.main import main; sys.exit(main())"
PEER = """
import typer
app = typer.Typer(add_completion=False)
@app.command()
def main(name: str = ""): pass
app()
"""
CASES: dict[str, list[str]] = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import typer'": ["-c", "import typer"],
    "typer, one option": ["-c", PEER],
    "diskbench --help": ["-c", MAIN, "--help"],
    "diskbench version": ["-c", MAIN, "version"],
    "diskbench run --help": ["-c", MAIN, "run", "--help"],
}

ROWS = {"--help": "diskbench --help", "version": "diskbench version"}
"""The rows of script/bench."""


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
    medians = {name: statistics.median(found) for name, found in times.items()}
    floor, typer = (medians[name] for name in list(CASES)[:2])
    print(f"{'':<26} {'median':>8} {'range of ' + str(rounds):>15}  {'÷ pass':>6} {'÷ typer':>7}")
    for name, found in times.items():
        span = f"{min(found) * 1e3:.0f}–{max(found) * 1e3:.0f} ms"
        middle = medians[name]
        ratios = f"{middle / floor:6.1f} {middle / typer:7.2f}"
        print(f"{name:<26} {middle * 1e3:5.0f} ms {span:>15}  {ratios}")
    if options.json:
        floor_values = times["python -c 'import typer'"]
        rows = [
            {"name": row, "unit": "s", "ours": times[name], "floor": floor_values}
            for row, name in ROWS.items()
        ]
        options.json.write_text(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
