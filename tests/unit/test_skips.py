"""A skipped test fails the run (tests/conftest.py); shown on a run of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
ENV = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
"""conftest.py takes what it needs from tests/rigs."""
SUITE = """
import pytest
def test_that_is_skipped(): pytest.skip("no disk here")
def test_that_passes(): pass
@pytest.mark.xfail(strict=True)
def test_that_is_known_to_fail(): assert False
"""


def outcome(directory: Path, conftest: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (directory / "conftest.py").write_text(conftest)
    (directory / "test_suite.py").write_text(SUITE)
    (directory / "pytest.ini").write_text("[pytest]\n")
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(argv, cwd=directory, env=ENV, capture_output=True, text=True, timeout=240)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_skip_fails_the_run_unless_it_is_allowed_by_name(tmp_path, arguments):
    strict = CONFTEST.read_text()
    found = outcome(tmp_path, strict, *arguments)
    assert found.returncode == 1
    assert "test_suite.py::test_that_is_skipped: Skipped: no disk here" in found.stdout
    named = 'ALLOWED_SKIPS: dict[str, str] = {"test_suite.py::*skipped": "shown"}'
    allowed = strict.replace("ALLOWED_SKIPS: dict[str, str] = {}", named)
    assert outcome(tmp_path, allowed, *arguments).returncode == 0
