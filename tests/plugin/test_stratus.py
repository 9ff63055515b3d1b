"""A provider of another project (tests/plugin/stratus), known by its entry point alone."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, Cli, a_user

from diskbench.providers.fake.cloud import FakeCloud

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).with_name("stratus")
RENTED = ("--provider", "stratus", "--disk", "vapor", "--size", "10")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The package as an installer leaves it: its modules and data, and its metadata beside them."""
    directory = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE / "src" / "diskbench_stratus", directory / "diskbench_stratus")
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    metadata = directory / f"diskbench_stratus-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return directory


def with_site(site):
    return os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))


@pytest.fixture
def user(tmp_path, site):
    made = a_user(tmp_path)
    made.modules = with_site(site)
    made.extra_env |= {"STRATUS_DIR": str(tmp_path / "sky"), "PYTHONPATH": made.modules}
    (made.home / "mine.fio").write_text(WRITE_THEN_READ.format(seconds=1))
    return made


@pytest.fixture
def sky(user):
    """The cloud's memory; nothing may be left in it."""
    cloud = FakeCloud(Path(user.extra_env["STRATUS_DIR"]))
    yield cloud
    assert list(cloud.things()) == []


def test_it_passes_the_contract_of_providers(site, tmp_path):
    """As its own project runs it: with its own test file, in a directory of its own."""
    shutil.copy(PACKAGE / "contract" / "test_contract.py", tmp_path)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "DISKBENCH_"))}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_contract.py"],
        cwd=tmp_path,
        env=env | {"PYTHONPATH": with_site(site), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed, ended.stdout
    assert int(passed[1]) >= 24
    assert "skipped" not in ended.stdout


def test_it_is_listed_with_its_abilities_and_its_catalogue_and_its_options_are_its_own(user):
    listed = user.done("providers").stdout
    assert "Machines and disks of Stratus, a cloud that is invented." in listed
    assert "stratus" not in Cli(user.home).done("providers").stdout
    disks = json.dumps(user.json("catalog", "disks", "--provider", "stratus"))
    assert "vapor" in disks
    assert "cumulus" in disks
    shown = user.done("catalog", "show", "vapor").stdout
    assert "6,000" in shown
    assert "brochure" in shown
    assert "puff-2" in user.done("catalog", "instances", "--provider", "stratus").stdout
    own = user.done("run", "--provider", "stratus", "--help").stdout
    assert "--altitude" in own
    assert "--lightning" in own
    assert "--altitude" not in user.done("run", "--provider", "aws", "--help").stdout
    refused = user.run("run", *RENTED, "--altitude", "higher", "--profile", "mine.fio")
    assert refused.returncode == 2
    assert "unknown altitude 'higher'" in refused.stderr
    refused = user.run("run", *RENTED, "--spot", "--profile", "mine.fio")
    assert refused.returncode == 2


def test_a_run_is_measured_judged_shown_and_given_back(user, sky):
    sky.plan_fault("machine", "sky-1a", "capacity")
    ended = user.done("run", *RENTED, "--altitude", "high", "--profile", "mine.fio")
    assert "no capacity in sky-1a; trying sky-1b" in ended.stderr
    assert "promised 100 IOPS, bursts to 6,000" in ended.stderr
    assert "[emulated]" in ended.stdout
    (run,) = user.json("results", "list")["runs"]
    assert (run["state"], run["provider"], run["emulated"]) == ("done", "stratus", True)
    document = user.json("results", "show", run["run_id"])["runs"][0]
    assert document["zone"] == "sky-1b"
    assert {verdict["step"] for verdict in document["verdicts"]} == {"write", "read"}
    page = user.home / "page.html"
    user.done("report", "last", "--to", str(page))
    assert "Stratus" in page.read_text() or "stratus" in page.read_text()
    # Whoever has not installed the package reads the results all the same.
    del user.extra_env["PYTHONPATH"]
    if os.environ.get("PYTHONPATH"):
        user.extra_env["PYTHONPATH"] = os.environ["PYTHONPATH"]
    assert user.json("results", "show", run["run_id"])["runs"][0]["provider"] == "stratus"
    assert user.run("run", *RENTED, "--profile", "mine.fio").returncode == 2


def test_a_refusal_of_the_cloud_is_the_error_that_its_table_says(user, sky):
    for zone in ("sky-1a", "sky-1b"):
        sky.plan_fault("disk", zone, "quota")
    ended = user.run("run", *RENTED, "--profile", "mine.fio")
    assert "the quota of tenant ground is used up" in ended.stderr
    assert ended.returncode == 2
    plan = user.done("plan", *RENTED, "--altitude", "high", "--profile", "mine.fio")
    assert "bursts to 6,000" in plan.stdout + plan.stderr
    assert list(sky.things()) == [], "a plan promises and rents nothing"


@pytest.mark.usefixtures("sky")
def test_cells_of_a_matrix_run_on_it(user):
    (user.home / "sky.yaml").write_text(f"""name: sky
defaults: {{provider: stratus, profile: {user.home}/mine.fio}}
include:
  - {{disk: vapor, size: 10, altitude: high}}
  - {{disk: cumulus, size: 20}}
""")
    user.done("matrix", "run", str(user.home / "sky.yaml"))
    assert sorted(run["state"] for run in user.json("results", "list")["runs"]) == ["done", "done"]


def test_the_doctor_examines_it_tries_and_records_a_rental_and_gc_takes_the_expired(user, sky):
    assert "tenant ground" in json.dumps(user.json("doctor", "--provider", "stratus"))
    sky.make("diskbench-01jforgotten-disk", {"lease": "01jforgotten", "expires": 1.0, "zone": "x"})
    ended = user.done("gc", "--provider", "stratus")
    assert "01jforgotten" in ended.stdout + ended.stderr
    sky.plan_fault("disk", "sky-1b", "quota")
    user.extra_env["STRATUS_TENANT"] = "ground-control"
    ended = user.run("doctor", "--live", *RENTED, "--output", "json")
    found = [one for one in json.loads(ended.stdout)["findings"] if one["check"] == "dry run"]
    refused = [one["told"] for one in found if one["state"] == "problem"]
    assert ended.returncode == 2
    assert len(found) == 7
    assert len(refused) == 1
    assert refused[0].startswith("disk in sky-1b: the quota of tenant ground is used up")
    text = (user.home / "diskbench-live-stratus.json").read_text()
    assert len(json.loads(text)["exchanges"]) == 6
    for private in ("ground-control", "token of a tenant"):
        assert private not in text
