"""A new database made of the evidence alone tells all that the old one told, and what cannot be
found in the evidence is said."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.cli import WRITE_THEN_READ, Cli, a_user, invoked
from tests.rigs.waiting import killed_at

from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR
from diskbench.store.site_folder import MANIFEST

FAILING = WRITE_THEN_READ + "[verify]\nstonewall\nrw=read\nbs=4k\nverify=crc32c\nverify_only\n"
IMPORTED = Path(__file__).parents[1] / "cases" / "imported"


@pytest.fixture
def renter(tmp_path: Path) -> Iterator[Cli]:
    """A user with a fake cloud of their own, in which nothing is left in the end."""
    made = a_user(tmp_path)
    fake = tmp_path / "fake"
    made.extra_env |= {FAKE_DIR: str(fake)}
    (made.home / "mine.fio").write_text(WRITE_THEN_READ.format(seconds=1))
    (made.home / "failing.fio").write_text(FAILING.format(seconds=1))
    yield made
    assert list((fake / "resources").glob("*")) == []


def documents(user: Cli, database: str) -> dict[str, Any]:
    """What every command that reads results prints from a database, by its arguments."""
    flags = ("--database-url", database)

    def said(*args: str, form: str = "--output") -> Any:
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
    assert user.run("publish", str(site), "--full", "--quiet", *flags).returncode == 0
    # The manifest holds the stamps of runs, which are random numbers of one database.
    pages = sorted(path for path in site.rglob("*") if path.is_file() and path.name != MANIFEST)
    found["site"] = {str(path.relative_to(site)): path.read_bytes() for path in pages}
    shutil.rmtree(site)
    return found


def matrix(user: Cli, name: str, **more: Any) -> str:
    """A matrix of the fake cloud, in a file."""
    fields = {"provider": "fake", "disk": "plain", "size": 1, "profile": f"{user.home}/mine.fio"}
    file = user.home / f"{name}.yaml"
    whole = {"name": name, "seed": 7, "defaults": fields | more.pop("defaults", {}), **more}
    file.write_text(json.dumps(whole))  # JSON is YAML
    return str(file)


@pytest.mark.thorough
def test_every_command_prints_the_same_of_a_rebuilt_database(renter: Cli, tmp_path: Path) -> None:
    user, target = renter, tmp_path / "target"
    target.mkdir()
    measured = ("run", "--path", str(target), "--quiet", "--label", "team=a", "--profile")
    assert user.run(*measured, "mine.fio", "--runs", "2").returncode == 0
    assert user.run(*measured, "failing.fio", "--runs", "2").returncode == 1
    imported = user.run("results", "import", *map(str, sorted(IMPORTED.glob("*.json"))[:2]))
    assert imported.returncode == 0, imported.stderr
    shared = matrix(user, "shared", reuse_host=True, include=[{"replicates": 2}])
    assert user.run("matrix", "run", shared, "--quiet").returncode == 0
    apart = matrix(
        user,
        "apart",
        include=[{"replicates": 2}, {"profile": str(user.home / "failing.fio"), "replicates": 1}],
    )
    assert user.run("matrix", "run", apart, "--quiet").returncode == 1
    costly = matrix(user, "costly", include=[{}], limits={"deadline": 1})
    assert user.run("matrix", "run", costly, "--quiet", "--keep-going").returncode == 1

    share = user.home / ".local/share/diskbench"
    before = documents(user, f"sqlite:///{share}/diskbench.db")
    elsewhere = f"sqlite:///{tmp_path}/elsewhere.db"
    again = user.run("results", "rebuild", "--database-url", elsewhere)
    assert again.returncode == 0, again.stderr
    after = documents(user, elsewhere)
    assert before.keys() == after.keys()
    for command, document in before.items():
        assert after[command] == document, command


def test_a_run_keeps_its_evidence_store_for_life(user: Cli, target: Path, tmp_path: Path) -> None:
    first, other = tmp_path / "first", tmp_path / "other"
    first.mkdir()
    other.mkdir()
    profile = user.home / "mine.fio"
    profile.write_text(WRITE_THEN_READ.format(seconds=6))
    flags = ("--path", str(target), "--profile", str(profile), "--evidence-url", first.as_uri())
    killed_at(user.start("run", *flags), "step 2 of 2")
    refused = user.run("resume", "--evidence-url", other.as_uri())
    assert refused.returncode == 2, refused.stderr
    assert first.as_uri() in refused.stderr
    done = user.run("resume", "--quiet", "--output", "json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["state"], run["evidence_url"]) == ("done", first.as_uri())

    elsewhere = ("--database-url", f"sqlite:///{tmp_path}/elsewhere.db")
    stores = ("--evidence-url", first.as_uri())
    assert user.run("results", "rebuild", *elsewhere, *stores).returncode == 0
    shown = json.loads(user.run("results", "show", *elsewhere, "--output", "json").stdout)
    assert [step["step"] for step in shown["runs"][0]["steps"]] == ["write", "read"]
