"""What `--cpu-to` writes of the CPU seconds of tests (tests/rigs/computing.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.rigs.computing import Account, table

CONFTEST = Path(__file__).parents[1] / "conftest.py"
ENV = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
"""conftest.py takes what it needs from tests/rigs."""
SUITE = """
import subprocess, sys, time
BURN = "import time\\nwhile time.process_time() < 0.4: pass"
def test_that_computes_by_another(): subprocess.run([sys.executable, "-c", BURN], check=True)
def test_that_does_nothing(): pass
"""


def test_rooms_files_and_tests_are_summed_the_costliest_first() -> None:
    phases = {
        ("tests/a/test_x.py::test_1", "setup"): 1.0,
        ("tests/a/test_x.py::test_1", "call"): 2.0,
        ("tests/b/test_y.py::test_2[[]", "call"): 4.0,
        ("tests/b/test_y.py::test_3", "call"): 0.001,
    }
    lines = [
        "    10.00  all",
        "     7.00  tests",
        "     3.00  between tests",
        "",
        "     4.00  tests/b",
        "     3.00  tests/a",
        "",
        "     4.00  tests/b/test_y.py",
        "     3.00  tests/a/test_x.py",
        "",
        "     4.00  tests/b/test_y.py::test_2[[] (call)",
        "     2.00  tests/a/test_x.py::test_1 (call)",
        "     1.00  tests/a/test_x.py::test_1 (setup)",
    ]
    assert table(phases, 10.0).splitlines() == lines


def test_where_no_cgroup_can_be_made_what_is_waited_for_counts(tmp_path: Path) -> None:
    account = Account(tmp_path / "absent")
    before = account.read()
    subprocess.run([sys.executable, "-c", "sum(range(10**6))"], check=True)
    assert account.read() > before
    assert not account.is_whole
    account.close()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_process_that_a_test_started_counts_for_the_test(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    subprocess.run(
        [*argv, "--cpu-to", "cpu.txt"],
        cwd=tmp_path, env=ENV, check=True, capture_output=True, timeout=240,
    )  # fmt: skip
    lines = [line.split(maxsplit=1) for line in (tmp_path / "cpu.txt").read_text().splitlines()]
    seconds = {line[1]: float(line[0]) for line in lines if line}
    by_another, idle = (
        f"test_suite.py::{name} (call)"
        for name in ("test_that_computes_by_another", "test_that_does_nothing")
    )
    assert seconds[by_another] >= 0.4
    assert seconds.get(idle, 0.0) < 0.4
    assert seconds["all"] >= seconds["tests"] >= 0.4
