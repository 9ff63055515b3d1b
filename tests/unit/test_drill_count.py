"""What tests/conftest.py counts of the drills, shown on a run of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
ENV = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
"""conftest.py takes what it needs from tests/rigs."""
DRILLS = """
import pytest
def test_that_holds(): pass
@pytest.mark.parametrize("case", range(3))
def test_of_which_one_case_fails(case): assert case != 1
@pytest.fixture
def broken(): raise RuntimeError
def test_whose_stage_cannot_be_set(broken): pass
@pytest.fixture
def dirty():
    yield
    raise RuntimeError
def test_that_leaves_something_behind(dirty): pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_drills_are_counted_by_name_with_their_failures(tmp_path, arguments):
    place = tmp_path / "tests" / "drills"
    place.mkdir(parents=True)
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (place / "test_one.py").write_text(DRILLS)
    (tmp_path / "test_other.py").write_text("def test_that_is_no_drill(): pass\n")
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(argv, cwd=tmp_path, env=ENV, capture_output=True, text=True, timeout=240)
    counted = [line for line in done.stdout.splitlines() if line.startswith("drills: ")]
    assert counted == [
        "drills: 4 run, 1 passed, 3 failed (cases: 6 run, 3 passed, 3 failed)",
    ], done.stdout


@pytest.mark.slow
def test_a_run_without_drills_counts_none(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_other.py").write_text("def test_that_is_no_drill(): pass\n")
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    done = subprocess.run(argv, cwd=tmp_path, env=ENV, capture_output=True, text=True, timeout=240)
    assert "drills:" not in done.stdout
