"""`reuse_host: true`: cells of a matrix measure one disk after another on one machine."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.cli import Cli, a_user

from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR
from diskbench.providers.fake.cloud import plan_fault
from diskbench.providers.lab.places import VARIABLE as LAB_DIR

WRITE_THEN_READ = """[global]
filename=data
size=8m
direct={direct}
ioengine=psync
[write]
rw=write
bs=64k
[read]
stonewall
rw=randread
bs=4k
time_based
runtime={seconds}
"""
LAB_DISKS = [
    {"disk": "gp2", "size": 1},
    {"disk": "gp3", "size": 2},
    {"disk": "pd-ssd", "size": 10},
]


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Cli]:
    """A user with a lab and a fake cloud of their own; both must be empty in the end."""
    made = a_user(tmp_path)
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
        made.extra_env |= {LAB_DIR: f"{directory}/lab", FAKE_DIR: f"{directory}/fake"}
        try:
            yield made
        finally:
            left = rented(made)
            if left:
                made.run("matrix", "cancel")
                made.run("gc", "--provider", "lab")
        assert left == [], "a test leaves nothing rented behind"


def rented(user: Cli) -> list[str]:
    """What is there of the user's leases, looked at behind diskbench's back."""
    lab, fake = (Path(user.extra_env[name]) for name in (LAB_DIR, FAKE_DIR))
    loops = subprocess.run(["losetup", "-l", "-n", "-O", "BACK-FILE"], capture_output=True)
    behind = [line for line in loops.stdout.decode().splitlines() if line.startswith(str(lab))]
    return [str(one) for one in (*lab.glob("*/*"), *(fake / "resources").glob("*"))] + behind


def matrix(user: Cli, *, seconds: int = 1, **more: Any) -> str:
    """A matrix file of this user."""
    fake = more["defaults"]["provider"] == "fake"
    profile = user.home / f"mine{seconds}.fio"
    profile.write_text(WRITE_THEN_READ.format(direct=0 if fake else 1, seconds=seconds))
    fields = {**more.pop("defaults"), "profile": str(profile)}
    whole = {"name": "shared", "order": "listed", "reuse_host": True, "defaults": fields, **more}
    file = user.home / "shared.yaml"
    file.write_text(json.dumps(whole))  # JSON is YAML
    return str(file)


def on_fake(user: Cli, cells: int, *, seconds: int = 1) -> str:
    defaults = {"provider": "fake", "disk": "plain", "size": 1, "replicates": cells}
    return matrix(user, seconds=seconds, defaults=defaults, include=[{}])


def cells(user: Cli) -> list[dict[str, Any]]:
    return [one["row"] for one in user.json("matrix", "status")["cells"]]


def runs(user: Cli) -> list[dict[str, Any]]:
    """The runs that have a result, in the order in which they were begun."""
    found = user.json("results", "list")["runs"]
    return sorted((one for one in found if one["state"] == "done"), key=lambda one: one["run_id"])


def test_three_disks_are_measured_on_one_machine(user):
    file = matrix(user, defaults={"provider": "lab"}, axes={"volume": LAB_DISKS})
    done = user.run("matrix", "run", file)
    assert done.returncode == 0, done.stderr
    found = runs(user)
    assert len(found) == 3
    assert len({one["machine_lease"] for one in found}) == 1
    assert found[0]["machine_lease"]
    assert len({one["address"] for one in found}) == 1, "one machine, and not one like it"
    assert len({one["target_identity"] for one in found}) == 3, "each on a disk of its own"
    assert [one["disk_size_bytes"] for one in found] == [n << 30 for n in (1, 2, 10)]
    shown = user.call("results", "show", found[0]["run_id"], "-v").stdout
    assert "shared: cells of its matrix share" in shown
    assert rented(user) == []


def test_a_machine_that_something_went_wrong_on_is_not_handed_on(user, monkeypatch):
    monkeypatch.setenv(FAKE_DIR, user.extra_env[FAKE_DIR])
    plan_fault("disk2", "fake-1a", "access")
    done = user.run("matrix", "run", on_fake(user, 2))
    assert done.returncode == 1, done.stderr
    assert [one["state"] for one in cells(user)] == ["done", "failed"]
    assert rented(user) == []
    again = user.run("matrix", "retry", "--failed")
    assert again.returncode == 0, again.stderr
    assert len({one["machine_lease"] for one in runs(user)}) == 2, "the second had a new machine"
    assert rented(user) == []
