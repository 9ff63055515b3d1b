"""MR-3: a quick look at a disk that bursts says "burst only", and one that lasts does not."""

import tempfile

import pytest
from tests.rigs.cli import a_user

from diskbench.providers.lab.places import VARIABLE

pytestmark = pytest.mark.slow

QUICK = ("--profile", "quick", "--set", "size=16m", "--set", "runtime=2", "--quiet", "-v")


@pytest.fixture
def user(tmp_path):
    made = a_user(tmp_path)
    # On a disk, for direct I/O; where /tmp is a tmpfs, tmp_path would be none.
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
        made.extra_env |= {VARIABLE: f"{directory}/lab"}
        yield made


def shown(user, *disk):
    done = user.done("run", "--provider", "lab", *disk, *QUICK)
    return " ".join(done.stdout.split())


def test_a_quick_run_on_gp2_says_burst_only_and_what_comes_after(user):
    told = shown(user, "--disk", "gp2", "--size", "20")
    assert "burst only" in told.lower()
    assert "falls to 100 IOPS" in told
    assert "To measure the baseline, run --profile" in told
    again = user.call("results", "show", "last", "-v").stdout
    assert "burst only" in " ".join(again.split()).lower()


def test_a_quick_run_on_gp3_which_does_not_burst_says_nothing_of_it(user):
    assert "burst only" not in shown(user, "--disk", "gp3", "--size", "20").lower()
