"""What a run of tests prints of failures, skips and signals, shown on runs of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
ENV = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
"""conftest.py takes what it needs from tests/rigs."""
SUITE = """
import os, signal
import pytest
@pytest.mark.parametrize("number", range(20))
def test_that_passes(number): pass
@pytest.fixture
def broken(): raise RuntimeError("no stage")
def test_that_fails(): assert 1 == 2
def test_without_a_stage(broken): pass
def test_that_sets_a_handler(): signal.signal(signal.SIGTERM, signal.SIG_IGN)
def test_after_it(): assert signal.getsignal(signal.SIGTERM) != signal.SIG_IGN
"""
HIT = """
import os, signal
import pytest
@pytest.mark.parametrize("number", range(8))
def test_that_passes(number): pass
def test_that_is_hit(): os.kill(os.getpid(), signal.SIGTERM)
"""

pytestmark = pytest.mark.slow


SKIPS = """
import pytest
def test_that_is_skipped(): pytest.skip("no disk here")
def test_that_passes(): pass
@pytest.mark.xfail(strict=True)
def test_that_is_known_to_fail(): assert False
"""


def run(
    place: Path, suite: str, *arguments: str, conftest: str = CONFTEST.read_text()
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """pytest's end, and the lines of --failures-to."""
    (place / "conftest.py").write_text(conftest)
    (place / "test_suite.py").write_text(suite)
    (place / "pytest.ini").write_text("[pytest]\n")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        [*argv, "--failures-to", "failures.txt"],
        cwd=place,
        env=ENV,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return done, sorted((place / "failures.txt").read_text().splitlines())


def test_a_skip_fails_the_run_unless_it_is_allowed_by_name(tmp_path):
    found, _ = run(tmp_path, SKIPS)
    assert found.returncode == 1
    assert "test_suite.py::test_that_is_skipped: Skipped: no disk here" in found.stdout
    named = 'ALLOWED_SKIPS: dict[str, str] = {"test_suite.py::*skipped": "shown"}'
    allowed = CONFTEST.read_text().replace("ALLOWED_SKIPS: dict[str, str] = {}", named)
    assert run(tmp_path, SKIPS, conftest=allowed)[0].returncode == 0


def test_each_failure_is_a_line_and_what_passed_is_none(tmp_path):
    done, failures = run(tmp_path, SUITE, "-n", "2")
    assert done.returncode == 1
    blamed = "AssertionError: a later test would be blamed (tests/rigs/leftovers.py): "
    wanted = [
        "failed: test_suite.py::test_that_fails - assert 1 == 2",
        f"failed: test_suite.py::test_that_sets_a_handler (teardown) - {blamed}handlers of signals",
        "failed: test_suite.py::test_without_a_stage (setup) - RuntimeError: no stage",
    ]
    assert failures == wanted
    assert "failed: test_suite.py::test_that_fails - assert 1 == 2" in done.stdout.splitlines()
    assert "....." not in done.stdout


def test_a_signal_that_hits_a_worker_names_the_test_and_the_line(tmp_path):
    done, failures = run(tmp_path, HIT, "-n", "2", "--max-worker-restart=0")
    assert done.returncode == 2
    kinds = [line.partition(": ")[0] for line in failures]
    assert kinds == ["failed", "interrupted", "stopped"]
    assert "during test_suite.py::test_that_is_hit (call)" in failures[1]
    assert "keyboard-interrupt" in failures[2]
    assert "os.kill(os.getpid(), signal." in done.stderr + done.stdout


def test_the_last_lines_of_script_test_name_what_failed(tmp_path):
    (tmp_path / "tests").write_text("failed: tests/a.py::test_b - assert 1 == 2\n")
    (tmp_path / "Python 3.13").write_text("failed: tests/c.py::test_d - KeyError: 1\n")
    (tmp_path / "log").write_text("a long log")
    (tmp_path / "Python 3.12").write_text("")
    checks = CONFTEST.parents[1] / "script" / "checks.sh"
    shell = 'say() { echo "==> $*" >&2; }; source "$1"; FAILURES=$2 list_failures'
    done = subprocess.run(
        ["bash", "-c", shell, "sh", str(checks), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines() == [
        "==> failed, Python 3.13:",
        "failed: tests/c.py::test_d - KeyError: 1",
        "==> failed, tests:",
        "failed: tests/a.py::test_b - assert 1 == 2",
    ]
