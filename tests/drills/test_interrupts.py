"""Ctrl-C at odd moments: while something is written down, rented, begun or ended."""

from __future__ import annotations

import pytest
from tests.drills.book import drill
from tests.rigs.chaos import Chaos
from tests.rigs.cli import merged_rows

JOB = """[global]
size=256k
ioengine=null
[write]
rw=write
[read]
stonewall
rw=randread
time_based
runtime=1
"""
QUICK = (
    "before diskbench.store.rows:save_plans 1",
    "before diskbench.providers.fake.cloud:FakeProvider.acquire 1",
    "before diskbench.hosts.jobs:start_and_watch 1",
    "before diskbench.store.archive:write_manifest 1",
    "before diskbench.providers.fake.cloud:FakeProvider.release 1",
)
MORE = (
    "after diskbench.store.rows:save_plans 1",
    "before diskbench.store.archive:write_plan 1",
    "after diskbench.providers.fake.cloud:FakeProvider.acquire 1",
    "after diskbench.store.rows:replace_draft 1",
    "after diskbench.hosts.jobs:start_and_watch 1",
    "before diskbench.store.archive:write_step_evidence 1",
    "after diskbench.store.archive:write_step_evidence 2",
    "before diskbench.store.step_rows:save_step 1",
    "after diskbench.store.archive:write_manifest 1",
    "before diskbench.store.rows:end_run 1",
    "before diskbench.store.leases:release_lease 1",
)


def interrupted_at(chaos: Chaos, moment: str) -> None:
    """A run that gets Ctrl-C there ends in order: nothing rented, no step half there."""
    profile = chaos.user.home / "two.fio"
    profile.write_text(JOB)
    words = ("run", "--provider", "fake", "--disk", "plain", "--size", "1")
    done = chaos.at(f"interrupt {moment}").run(*words, "--profile", str(profile))
    assert done.returncode in {0, 130}, done.stderr
    assert "Traceback" not in done.stderr
    assert not list(chaos.place.glob("fake/resources/*"))
    runs = chaos.user.json("results", "list")["runs"]
    for run in runs:
        assert run["state"] == ("done" if done.returncode == 0 else "interrupted")
        (shown,) = chaos.user.json("results", "show", run["run_id"])["runs"]
        steps = [row["step"] for row in merged_rows(shown)]
        assert steps == ["write", "read"][: len(steps)]
    ended = chaos.user.call("gc")
    assert ended.returncode == 0, ended.stderr
    assert "nothing to give back" in ended.stderr


@drill(
    done="Ctrl-C right when the plan is saved, renting begins, fio is started, the run is closed, "
    "or the machine is given back",
    holds="exit 130, or 0 where all was done; nothing rented, and rows of finished steps only",
)
@pytest.mark.parametrize("moment", QUICK)
def test_ctrl_c_at_an_odd_moment_ends_in_order(chaos: Chaos, moment: str) -> None:
    interrupted_at(chaos, moment)


@drill(
    done="Ctrl-C at eleven further moments between two writes",
    holds="exit 130, or 0 where all was done; nothing rented, and rows of finished steps only",
    quick=False,
)
@pytest.mark.parametrize("moment", MORE)
def test_ctrl_c_between_two_writes_ends_in_order(chaos: Chaos, moment: str) -> None:
    interrupted_at(chaos, moment)
