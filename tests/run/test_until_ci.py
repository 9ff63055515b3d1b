"""`diskbench run --until-ci` on machines that it rents, killed and gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rigs.cli import Cli, a_user

from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR

AT_A_RATE = """[global]
filename=data
size=1m
direct=0
ioengine=psync
[write]
rw=randwrite
bs=4k
time_based
runtime=1
rate_iops=200
"""
FAKE = ("run", "--provider", "fake", "--disk", "plain", "--size", "1", "--quiet")


@pytest.fixture
def user(tmp_path: Path) -> Cli:
    made = a_user(tmp_path)
    made.extra_env |= {FAKE_DIR: str(tmp_path / "fake")}
    (made.home / "steady.fio").write_text(AT_A_RATE)
    return made


def left(user: Cli) -> list[str]:
    place = Path(user.extra_env[FAKE_DIR], "resources")
    return [path.name for path in place.glob("*")]


def test_replicates_go_on_until_the_interval_is_narrow_and_no_longer(user):
    flags = ("--profile", "steady.fio", "--until-ci", "90%", "--max-replicates", "14")
    done = user.run(*FAKE, *flags, timeout_s=300)
    assert done.returncode == 0, done.stderr
    assert "n = 10" in done.stdout
    assert "reached: within ±" in done.stdout
    assert "after 10 replicates, ±90 % was wanted" in done.stdout
    assert len(user.json("results", "list")["runs"]) == 10
    assert left(user) == []
