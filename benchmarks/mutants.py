"""Change decisions of the core one by one, and see that tests which always run fail for each.

    python benchmarks/mutants.py [NAME…]

Each decision is one text that stands once in the source; it is changed in a copy of this checkout
in a temporary directory, and the tests of its room run there without those marked `thorough`. What
is printed: each decision, how many seconds the tests took, and the first test that failed. Ends
with 1 when a change was noticed by none, or a text stands nowhere or twice.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "emulators", "docs", "profiles", "benchmarks", "script")
WITHIN_S = 600.0


@dataclass(frozen=True)
class Mutant:
    """A decision, how it is made wrong, and the tests of its room."""

    name: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS = (
    Mutant(
        "limit: a file of settings may be one byte too large",
        "    if len(data) > limit:\n",
        "    if len(data) > limit + 1:\n",
        ("tests/unit/test_text_file.py",),
    ),
    Mutant(
        "owner: a cell is taken whoever has it",
        "sa.or_(expected, cell.c.owner == owner)",
        "sa.true()",
        ("tests/unit/store/test_rows.py",),
    ),
    Mutant(
        "owner: gc ends what somebody else rents",
        "if not (not_mine or is_same_owner(listed_lease.owner, owner) or is_over(listed_lease)):",
        "if False:",
        ("tests/drills/test_ids.py::test_an_unexpired_lease_of_another_owner_needs_not_mine",),
    ),
    Mutant(
        "expiry: an expired lease is kept",
        "if datetime.fromisoformat(lease.expires_at) < present:",
        "if datetime.fromisoformat(lease.expires_at) > present:",
        ("tests/drills/test_clocks.py",),
    ),
    Mutant(
        "quoting: values of a unit reach the shell as they are",
        'f"{key}={shlex.quote(str(value))}\\n" for key, value in values.items()',
        'f"{key}={value}\\n" for key, value in values.items()',
        ("tests/unit/test_quoting.py",),
    ),
    Mutant(
        "quoting: an ssh command is joined by blanks",
        'shlex.join([*words, f"{user}@{host}" if user else host, *command])',
        '" ".join([*words, f"{user}@{host}" if user else host, *command])',
        ("tests/unit/test_quoting.py",),
    ),
    Mutant(
        "quoting: a formula stays one in CSV",
        "risky = _FORMULA.match(text) and not _NUMBER.fullmatch(text)",
        "risky = False",
        ("tests/unit/store/test_export.py", "tests/drills/test_injection.py"),
    ),
    Mutant(
        "identity: a device with another identity is measured",
        "    if wanted in own:\n",
        "    if wanted:\n",
        ("tests/unit/hosts/test_device.py", "tests/drills/test_refused_devices.py"),
    ),
    Mutant(
        "safety: a mounted device is measured",
        "    if state.mounts:\n",
        "    if False:\n",
        ("tests/unit/hosts/test_device.py", "tests/drills/test_refused_devices.py"),
    ),
    Mutant(
        "safety: a job file may name any option",
        "if special is None and name not in harmless():",
        "if False:",
        ("tests/unit/fio/test_guard.py", "tests/drills/test_hostile_job_files.py"),
    ),
    Mutant(
        "cost: a plan above --max-cost is begun",
        "    if not total <= limit_usd:\n",
        "    if total < 0:\n",
        ("tests/unit/plan/test_cost_limit.py",),
    ),
    Mutant(
        "method: steady although no rule holds",
        "holds = result.steady and kind is not None and moves",
        "holds = kind is not None and moves",
        ("tests/unit/analysis/test_steady.py", "tests/method/test_mr02_steady.py"),
    ),
    Mutant(
        "method: a trial's figure mixes burst and baseline",
        'at_baseline = [at for at, kind in enumerate(kinds) if kind == "baseline"]',
        "at_baseline = list(range(len(kinds)))",
        ("tests/unit/analysis/test_figure.py", "tests/unit/analysis/test_shown.py"),
    ),
    Mutant(
        "secrets: a directory of ours that others read stays so",
        "if status.st_uid == os.geteuid() and status.st_mode & _OTHERS:",
        "if False:",
        ("tests/unit/test_private.py",),
    ),
)


def place_of(mutant: Mutant, source: Path) -> Path:
    """The one file that holds the text. Raises ValueError when none or several do."""
    found = {path: path.read_text("utf-8").count(mutant.old) for path in source.rglob("*.py")}
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
