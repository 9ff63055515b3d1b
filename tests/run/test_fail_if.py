"""`diskbench run --fail-if`: the measurement as a gate of a pipeline."""

import xml.etree.ElementTree as ET

import pytest

LOOK = ["--profile", "quick", "--set", "runtime=1", "--set", "size=16m", "--quiet"]


def test_a_figure_of_a_condition_fails_the_command(user, target, tmp_path):
    file = tmp_path / "junit.xml"
    conditions = ["iops < 1", "rand-read-4k-qd1: p50 > 1ns", "ratio < 0.9"]
    flags = [word for text in conditions for word in ("--fail-if", text)]
    done = user.run("run", "--path", str(target), *LOOK, *flags, "--junit", str(file), "--promise",
                    "iops=100000000,mb_per_s=1000000")  # fmt: skip
    assert done.returncode == 1
    failed = [line for line in done.stderr.splitlines() if line.startswith("failed ")]
    assert sum("p50" in line for line in failed) == 1
    assert not any("IOPS" in line for line in failed)
    assert sum("ratio" in line for line in failed) == 5
    suites = ET.parse(file).getroot()  # noqa: S314 - our own
    assert (suites.get("tests"), suites.get("failures")) == ("5", "5")


def test_conditions_that_do_not_hold_leave_the_exit_code(user, target):
    user.done("run", "--path", str(target), *LOOK, "--fail-if", "p99 > 1000s")


@pytest.mark.parametrize("condition", ["p98 > 1ms", "no-such-step: iops < 1", "ratio < 0.9"])
def test_a_condition_that_means_nothing_is_refused_before_anything_runs(user, target, condition):
    done = user.run("run", "--path", str(target), *LOOK, "--fail-if", condition)
    assert (done.returncode, "--fail-if" in done.stderr) == (2, True), done.stderr
    assert list(target.iterdir()) == []
