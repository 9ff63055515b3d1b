"""A new database made of the evidence alone tells all that the old one told, and what cannot be
found in the evidence is said."""

import json
import shutil
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, a_user, invoked
from tests.rigs.waiting import killed_at

from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR
from diskbench.store.site_folder import MANIFEST

FAILING = WRITE_THEN_READ + "[verify]\nstonewall\nrw=read\nbs=4k\nverify=crc32c\nverify_only\n"
IMPORTED = Path(__file__).parents[1] / "cases" / "imported"


@pytest.fixture
def renter(tmp_path):
    """A user with a fake cloud of their own, in which nothing is left in the end."""
    fake = tmp_path / "fake"
    made = a_user(tmp_path, **{FAKE_DIR: str(fake)})
    made.job()
    made.job(FAILING, "failing.fio")
    yield made
    assert list((fake / "resources").glob("*")) == []


def documents(user, database):
    """What every command that reads results prints from a database, by its arguments."""
    flags = ("--database-url", database)

    def said(*args, form="--output"):
        done = invoked(*args, *flags, form, "json", env=user.env)
        assert done.exit_code == 0, (args, done.output)
        return json.loads(done.stdout)

    runs = said("results", "list")
    found = {"list": runs, "export": said("results", "export", form="--format")}
    trials = {run["trial_id"]: run["run_id"] for run in runs["runs"]}
    for trial_id, run_id in sorted(trials.items()):
        found[f"show {trial_id}"] = said("results", "show", run_id)
        found[f"timing {trial_id}"] = said("results", "show", run_id, "--timing")
    for name in ("shared", "apart"):
        found[f"show {name}"] = said("results", "show", name)
    for name in ("shared", "apart", "costly"):
        found[f"matrix status {name}"] = said("matrix", "status", name)
    found["compare"] = said("compare", "shared", "apart")
    found["regressions"] = said("regressions")
    found["rented"] = said("status")["leases"]
    site = user.home / "site"
    # a process of its own: what draws the charts counts them as long as it lives
    user.done("publish", str(site), "--full", "--quiet", *flags)
    # The manifest holds the stamps of runs, which are random numbers of one database.
    pages = sorted(path for path in site.rglob("*") if path.is_file() and path.name != MANIFEST)
    found["site"] = {str(path.relative_to(site)): path.read_bytes() for path in pages}
    shutil.rmtree(site)
    return found


def matrix(user, name, **more):
    """A matrix of the fake cloud, in a file."""
    fields = {"provider": "fake", "disk": "plain", "size": 1, "profile": f"{user.home}/mine.fio"}
    whole = {"name": name, "seed": 7, "defaults": fields | more.pop("defaults", {}), **more}
    return user.job(json.dumps(whole), f"{name}.yaml")  # JSON is YAML


@pytest.mark.thorough
def test_every_command_prints_the_same_of_a_rebuilt_database(renter, tmp_path):
    user, target = renter, tmp_path / "target"
    target.mkdir()
    measured = ("run", "--path", str(target), "--quiet", "--label", "team=a", "--profile")
    user.done(*measured, "mine.fio", "--runs", "2")
    assert user.run(*measured, "failing.fio", "--runs", "2").returncode == 1
    user.done("results", "import", *map(str, sorted(IMPORTED.glob("*.json"))[:2]))
    shared = matrix(user, "shared", reuse_host=True, include=[{"replicates": 2}])
    user.done("matrix", "run", shared, "--quiet")
    failing = {"profile": str(user.home / "failing.fio"), "replicates": 1}
    apart = matrix(user, "apart", include=[{"replicates": 2}, failing])
    assert user.run("matrix", "run", apart, "--quiet").returncode == 1
    costly = matrix(user, "costly", include=[{}], limits={"deadline": 1})
    assert user.run("matrix", "run", costly, "--quiet", "--keep-going").returncode == 1

    share = user.home / ".local/share/diskbench"
    before = documents(user, f"sqlite:///{share}/diskbench.db")
    elsewhere = f"sqlite:///{tmp_path}/elsewhere.db"
    user.done("results", "rebuild", "--database-url", elsewhere)
    after = documents(user, elsewhere)
    assert before.keys() == after.keys()
    for command, document in before.items():
        assert after[command] == document, command


def test_a_run_keeps_its_evidence_store_for_life(user, target, tmp_path):
    first, other = tmp_path / "first", tmp_path / "other"
    first.mkdir()
    other.mkdir()
    job = user.job(seconds=6)
    flags = ("--path", str(target), "--profile", job, "--evidence-url", first.as_uri())
    killed_at(user.start("run", *flags), "step 2 of 2")
    refused = user.run("resume", "--evidence-url", other.as_uri())
    assert refused.returncode == 2, refused.stderr
    assert first.as_uri() in refused.stderr
    (run,) = user.json("resume", "--quiet")["runs"]
    assert (run["state"], run["evidence_url"]) == ("done", first.as_uri())

    elsewhere = ("--database-url", f"sqlite:///{tmp_path}/elsewhere.db")
    stores = ("--evidence-url", first.as_uri())
    user.done("results", "rebuild", *elsewhere, *stores)
    shown = json.loads(user.run("results", "show", *elsewhere, "--output", "json").stdout)
    assert [step["step"] for step in shown["runs"][0]["steps"]] == ["write", "read"]
