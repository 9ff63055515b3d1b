"""A matrix that is over: its figures, its gate, and the same in `matrix status`."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, Cli, a_user

from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR

MATRIX = """name: two
defaults: {provider: fake, disk: plain, profile: ./short.fio}
axes:
  size: [1, 2]
"""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Cli]:
    made = a_user(tmp_path)
    (made.home / "short.fio").write_text(WRITE_THEN_READ.format(seconds=1))
    (made.home / "two.yaml").write_text(MATRIX)
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
        made.extra_env |= {FAKE_DIR: directory}
        yield made


def test_a_matrix_ends_with_its_figures_and_fails_by_its_conditions(user: Cli) -> None:
    conditions = ["--fail-if", "read: iops < 1", "--fail-if", "read: p50 > 1ns"]
    file = user.home / "junit.xml"
    done = user.run("matrix", "run", "two.yaml", "--quiet", *conditions, "--junit", str(file))
    assert done.returncode == 1, done.stderr
    failed = [line for line in done.stderr.splitlines() if line.startswith("failed ")]
    assert len(failed) == 2, "one of each cell"
    assert all("p50 > 1ns" in line for line in failed)
    suites = ET.parse(file).getroot()  # noqa: S314 - our own
    assert [suites.get(name) for name in ("tests", "failures", "errors")] == ["4", "2", "0"]
    assert len({suite.get("name") for suite in suites}) == 2, "a suite of each cell"
    rows = [line for line in done.stdout.splitlines() if "fake plain" in line]
    assert len(rows) == 4, "two disks in two steps"
    assert "diskbench report " in done.stdout.splitlines()[-1]
    status = user.run("matrix", "status")
    assert status.stdout == done.stdout


def test_a_condition_on_a_step_that_no_profile_has_is_refused_before_anything_is_rented(
    user: Cli,
) -> None:
    done = user.run("matrix", "run", "two.yaml", "--fail-if", "no-such-step: iops < 1")
    assert done.returncode == 2, done.stderr
    assert "no-such-step" in done.stderr
