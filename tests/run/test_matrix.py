"""Matrices of rented disks: cells that share a machine, conditions that fail them, and replicates
until an interval is narrow."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import yaml
from tests.rigs.books import in_directories

from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR
from diskbench.providers.fake.cloud import plan_fault

LAB_DISKS = [{"disk": "gp2", "size": 1}, {"disk": "gp3", "size": 2}, {"disk": "pd-ssd", "size": 10}]
AT_A_RATE = """[write]
filename=data
size=1m
ioengine=psync
rw=randwrite
bs=4k
time_based
runtime=1
rate_iops=200
"""


def matrix(renting, kind="fake", **more):
    """A matrix file of the usual profile, with these fields beside its defaults."""
    file = renting.user.home / renting.matrix(kind)
    whole = yaml.safe_load(file.read_text())
    whole["defaults"].pop("replicates")
    for field in more.get("axes", {}):  # type: ignore[attr-defined]
        whole["defaults"].pop(field, None)
    file.write_text(json.dumps(whole | {"order": "listed", **more}))
    return str(file)


def test_three_disks_are_measured_on_one_machine(renting):
    user = renting.user
    file = matrix(renting, "lab", reuse_host=True, axes={"volume": LAB_DISKS})
    user.done("matrix", "run", file)
    found = sorted(user.json("results", "list")["runs"], key=lambda one: str(one["run_id"]))
    assert [one["state"] for one in found] == ["done"] * 3
    assert len({one["machine_lease"] for one in found}) == 1
    assert found[0]["machine_lease"]
    assert len({one["address"] for one in found}) == 1, "one machine, and not one like it"
    assert len({one["target_identity"] for one in found}) == 3, "each on a disk of its own"
    assert [one["disk_size_bytes"] for one in found] == [n << 30 for n in (1, 2, 10)]
    shown = user.call("results", "show", found[0]["run_id"], "-v").stdout
    assert "shared: cells of its matrix share" in shown
    assert in_directories(renting.place / "lab") == []


def test_a_machine_that_something_went_wrong_on_is_not_handed_on(renting, monkeypatch):
    monkeypatch.setenv(FAKE_DIR, renting.user.extra_env[FAKE_DIR])
    plan_fault("disk2", "fake-1a", "access")
    done = renting.user.run("matrix", "run", renting.matrix(reuse_host=True))
    assert done.returncode == 1, done.stderr
    assert [one["state"] for one in renting.cells()] == ["done", "failed"]
    assert in_directories(renting.place / "fake") == []
    renting.user.done("matrix", "retry", "--failed")
    runs = [one for one in renting.user.json("results", "list")["runs"] if one["state"] == "done"]
    assert len({one["machine_lease"] for one in runs}) == 2, "the second had a new machine"


def test_a_matrix_ends_with_its_figures_and_fails_by_its_conditions(renting):
    user, file = renting.user, renting.user.home / "junit.xml"
    two = matrix(renting, axes={"size": [1, 2]}, title="One GiB or two")
    conditions = ["--fail-if", "read: iops < 1", "--fail-if", "read: p50 > 1ns"]
    done = user.run("matrix", "run", two, "--quiet", *conditions, "--junit", str(file))
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
    assert user.run("matrix", "status").stdout == done.stdout
    name = yaml.safe_load(Path(two).read_text())["name"]
    page = user.home / "page.html"
    user.done("report", name, "--to", str(page))
    assert f"<h1>{name}: One GiB or two" in page.read_text()
    refused = user.run("matrix", "run", two, "--fail-if", "no-such-step: iops < 1")
    assert (refused.returncode, "no-such-step" in refused.stderr) == (2, True), refused.stderr


def test_replicates_go_on_until_the_interval_is_narrow_and_no_longer(renting):
    renting.user.job(AT_A_RATE, "steady.fio")
    rented = ("--provider", "fake", "--disk", "plain", "--size", "1", "--quiet")
    until = ("--until-ci", "90%", "--max-replicates", "14")
    words = ("run", *rented, "--profile", "steady.fio", *until)
    done = renting.user.done(*words, timeout_s=300)
    assert "n = 10" in done.stdout
    assert "reached: within ±" in done.stdout
    assert "after 10 replicates, ±90 % was wanted" in done.stdout
    assert len(renting.user.json("results", "list")["runs"]) == 10
