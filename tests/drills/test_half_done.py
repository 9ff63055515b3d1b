"""Commands that write much, killed in the middle or out of room: no half of it is trusted."""

import csv
import hashlib
import io
import re
import signal
from pathlib import Path

import pytest
from tests.rigs import dying
from tests.rigs.cli import Cli, a_user
from tests.rigs.loops import filesystem, fill

from diskbench.store.site_folder import MANIFEST

CASES = Path(__file__).parents[1] / "cases/fio_output"
FILES = tuple(
    str(CASES / f"{name}.out") for name in ("v3.33-two-jobs", "v3.28-two-jobs", "v3.25-two-jobs")
)


def killed(user, moment, *words):
    env = user.extra_env | {dying.MOMENT: f"kill {moment}"}
    done = Cli(user.home, env, (dying.__file__,)).run(*words)
    assert done.returncode == -signal.SIGKILL, f"it never came to {moment!r}:\n{done.stderr}"


def rows(user):
    """All rows as they are exported, whose order follows from the files alone."""
    return "".join(sorted(user.done("results", "export").stdout.splitlines(keepends=True)))


def imported(user):
    """The rows of imports, but for the time of the import and the home that they are kept in."""
    table = csv.DictReader(io.StringIO(user.done("results", "export").stdout))
    found = [{name: of.replace(str(user.home), "~") for name, of in row.items()} for row in table]
    return sorted(({**row, "created_at": ""} for row in found), key=str)


def evidence(user):
    """What the evidence store holds, but for what is only computed from it. Records tell when an
    undated file was imported: of them the names count."""
    found = tree(user.home / ".local/share/diskbench/evidence")
    records = ("manifest.json", "step.json")
    return {
        name: "" if name.endswith(records) else digest
        for name, digest in found.items()
        if "/derived/" not in name
    }


def tree(folder):
    """Name → digest of every file, but for what a killed process was just writing."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(
            # Drawings are numbered by how many a process drew before.
            re.sub(rb"-clip\d+", b"-clip", path.read_bytes())
        ).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".part" not in path.name and "#" not in path.name
    }


@pytest.mark.parametrize(
    "moment",
    [
        "after store.archive:_put_files 2",
        "before store.archive:write_manifest 2",
        "after store.archive:write_manifest 2",
        "before store.rebuild:write_steps 1",
    ],
)
def test_an_import_that_was_killed_leaves_no_half_run(user, tmp_path, moment):
    """SIGKILL after evidence, before and after the manifest, before the rows; then once more."""
    killed(user, moment, "results", "import", *FILES)
    for run in user.json("results", "list")["runs"]:
        shown = user.json("results", "show", run["run_id"])["runs"][0]
        assert shown["state"] == "done"
        assert all(step["measurements"] for step in shown["steps"])
    user.done("results", "import", *FILES)
    (tmp_path / "undisturbed").mkdir()
    undisturbed = a_user(tmp_path / "undisturbed")
    undisturbed.done("results", "import", *FILES)
    assert evidence(user) == evidence(undisturbed)
    assert imported(user) == imported(undisturbed)


@pytest.mark.thorough
@pytest.mark.parametrize("empty", [False, True], ids=["over rows", "empty database"])
@pytest.mark.parametrize(
    "moment",
    [
        "before store.rebuild:write_runs 1",
        "after store.rebuild:write_steps 2",
        "after store.rebuild:write_runs 2",
    ],
)
def test_a_rebuild_that_was_killed_loses_no_row(user, moment, empty):
    """SIGKILL while every row is made again, over existing rows and into an empty database."""
    user.done("results", "import", *FILES)
    before = rows(user)
    if empty:
        for file in (user.home / ".local/share/diskbench").glob("diskbench.db*"):
            file.unlink()
    killed(user, moment, "results", "rebuild")
    meanwhile = set(rows(user).splitlines())
    assert meanwhile <= set(before.splitlines())
    if not empty:
        assert meanwhile == set(before.splitlines())
    user.done("results", "rebuild")
    assert rows(user) == before


DELETED = "after store.evidence:ObjectEvidence.delete 1"


@pytest.mark.parametrize("moment", [DELETED, "before store.rows:delete_runs 1"])
def test_a_deletion_that_was_killed_can_be_ended(user, moment):
    """SIGKILL while runs are deleted: after the evidence of the first, and before the rows."""
    user.done("results", "import", *FILES)
    ids = [run["run_id"] for run in user.json("results", "list")["runs"]]
    killed(user, moment, "results", "delete", "--yes", *ids)
    user.done("results", "delete", "--yes", *ids)
    user.done("results", "rebuild")
    assert user.json("results", "list")["runs"] == []
    assert evidence(user) == {}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "moment",
    [
        "after store.site_folder:_replaced 2",
        "before store.site_folder:SiteFolder.save 1",
        "before store.site_folder:SiteFolder.keep_only 1",
    ],
)
def test_a_site_whose_publishing_was_killed_is_whole_the_next_time(user, moment):
    """SIGKILL while a site is published: between two pages, and before its manifest."""
    user.done("results", "import", *FILES)
    user.done("publish", str(user.home / "undisturbed"))
    wanted = tree(user.home / "undisturbed")
    killed(user, moment, "publish", str(user.home / "site"))
    for name, digest in tree(user.home / "site").items():
        assert name == MANIFEST or wanted[name] == digest, f"{name} is half written"
    user.done("publish", str(user.home / "site"))
    assert tree(user.home / "site") == wanted


@pytest.mark.parametrize("command", ["results export --to kept.csv", "report last --to kept.html"])
def test_an_export_that_was_killed_leaves_the_earlier_file(user, command):
    """SIGKILL while an export or a report replaces an earlier file."""
    user.done("results", "import", *FILES)
    *words, name = command.split()
    file = user.home / name
    file.write_text("the earlier one")
    killed(user, "before pathlib:Path.replace 1", *words, str(file))
    assert file.read_text() == "the earlier one"


@pytest.fixture
def full(tmp_path):
    """A filesystem without room for another file, on a loop device; it holds `kept.csv`."""
    with filesystem(tmp_path / "full", 4) as directory:
        (directory / "kept.csv").write_text("the earlier one")
        fill(directory / "filler")
        yield directory


def test_an_export_without_room_leaves_the_earlier_file(user, full):
    """An export replaces an earlier file on a full filesystem: exit 2 with the reason."""
    user.done("results", "import", *FILES)
    done = user.refused("results", "export", "--to", str(full / "kept.csv"))
    assert "No space left" in " ".join(done.stderr.split())
    assert (full / "kept.csv").read_text() == "the earlier one"
    assert {one.name for one in full.iterdir()} <= {"kept.csv", "filler", "lost+found"}


def test_an_import_without_room_keeps_no_half_run(user, full):
    """Files are imported into an evidence store on a full loop filesystem; later there is room."""
    user.extra_env["DISKBENCH_EVIDENCE_URL"] = full.as_uri()
    assert "No space left" in user.refused("results", "import", *FILES).stderr
    assert user.json("results", "list")["runs"] == []
    (full / "filler").unlink()
    user.done("results", "import", *FILES)
    assert len(user.json("results", "list")["runs"]) == len(FILES)
