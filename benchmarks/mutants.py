"""Change decisions of the core one by one, and see that tests which always run fail for each.

    python benchmarks/mutants.py [NAME…]

Each decision is one text that stands once in the source; it is changed in a copy of this checkout
in a temporary directory, and the tests of its room run there without those marked `thorough`. What
is printed: each decision, how many seconds the tests took, and the first test that failed. Ends
with 1 when a change was noticed by none, or a text stands nowhere or twice.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.mutants_decisions import MUTANTS, Mutant  # noqa: E402 - beside this file

COPIED = ("src", "tests", "emulators", "docs", "profiles", "benchmarks", "script")
WITHIN_S = 600.0


def place_of(mutant: Mutant, source: Path) -> Path:
    """The one file that holds the text. Raises ValueError when none or several do."""
    files = [*source.rglob("*.py"), *source.rglob("*.sh")]
    found = {path: path.read_text("utf-8").count(mutant.old) for path in files}
    count = sum(found.values())
    if count != 1:
        raise ValueError(f"{mutant.name}: its text stands {count} times in {source}")
    return next(path for path, times in found.items() if times)


def copied(into: Path) -> Path:
    """A copy of what tests need of this checkout."""
    left = shutil.ignore_patterns("__pycache__", ".mypy_cache", ".pytest_cache")
    for name in COPIED:
        shutil.copytree(ROOT / name, into / name, ignore=left, symlinks=True)
    for file in ROOT.iterdir():
        if file.is_file():
            shutil.copy2(file, into / file.name)
    return into


def first_failure(place: Path, tests: tuple[str, ...]) -> str | None:
    """The first test that fails in a copy; None when all pass. Raises RuntimeError when the tests
    could not run."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not thorough", "-p", "no:cacheprovider",
         "--hypothesis-profile=ci", "--failures-to", str(place / "failed.txt"), *tests],
        cwd=place, env=os.environ | {"PYTHONPATH": str(place / "src")},
        capture_output=True, text=True, timeout=WITHIN_S, check=False,
    )  # fmt: skip
    if done.returncode not in {0, 1}:
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}")
    failed = (place / "failed.txt").read_text("utf-8").splitlines()
    if done.returncode and not failed:
        raise RuntimeError(done.stdout[-2000:])
    return re.split(r" - | \(", failed[0].removeprefix("failed: "))[0] if failed else None


def main(names: list[str]) -> int:
    """Print a row for each mutant; 1 when one survives."""
    chosen = [one for one in MUTANTS if not names or any(name in one.name for name in names)]
    survived = 0
    print("| decision made wrong | seconds | first test that fails |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="diskbench-mutants-", dir="/var/tmp") as directory:
        place = copied(Path(directory))
        for mutant in chosen:
            path = place_of(mutant, place / "src" / "diskbench")
            text = path.read_text("utf-8")
            path.write_text(text.replace(mutant.old, mutant.new), "utf-8")
            began = time.monotonic()
            try:
                failed = first_failure(place, mutant.tests)
            finally:
                path.write_text(text, "utf-8")
            survived += failed is None
            took = time.monotonic() - began
            print(f"| {mutant.name} | {took:.0f} | {failed or 'NONE'} |", flush=True)
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
