import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from diskbench.errors import InvalidValue
from diskbench.store.site_folder import open_site
from diskbench.store.site_manifest import FORMER, MANIFEST, ShownTrial, TrialLines


def fill(path, files, *, only=None):
    """Publish `files` (name → text, which is its own digest); returns what was touched."""
    with open_site(path) as site:
        site.claim(files)
        for name, text in files.items():
            if site.fresh(name, text) is None:
                site.write(name, text.encode(), text, {"said": text})
        site.keep_only(files if only is None else only)
        return site.written, site.removed


def test_a_site_is_made_where_nothing_is(tmp_path):
    written, removed = fill(tmp_path / "a" / "b", {"index.html": "x", "runs/1.html": "y"})
    assert (written, removed) == (["index.html", "runs/1.html"], [])
    assert (tmp_path / "a/b/runs/1.html").read_text() == "y"


def test_the_second_time_nothing_is_written(tmp_path):
    files = {"index.html": "x", "runs/1.html": "y"}
    fill(tmp_path, files)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}
    assert fill(tmp_path, files) == ([], [])
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")} == times


def test_a_page_made_of_something_else_but_alike_keeps_its_file(tmp_path):
    fill(tmp_path, {"index.html": "x"})
    before = (tmp_path / "index.html").stat().st_mtime_ns
    with open_site(tmp_path) as site:
        assert site.fresh("index.html", "other") is None
        site.write("index.html", b"x", "other")
        assert site.written == []
    assert (tmp_path / "index.html").stat().st_mtime_ns == before


def test_what_other_pages_quote_is_kept(tmp_path):
    fill(tmp_path, {"index.html": "x"})
    with open_site(tmp_path) as site:
        assert site.fresh("index.html", "x").summary == {"said": "x"}


def test_pages_that_are_no_more_go_with_their_folder_and_other_files_stay(tmp_path):
    fill(tmp_path, {"index.html": "x", "runs/1.html": "y"})
    (tmp_path / "CNAME").write_text("disks.example")
    assert fill(tmp_path, {"index.html": "x"}) == ([], ["runs/1.html"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["CNAME", MANIFEST, "index.html"]


def test_a_folder_with_somebody_elses_files_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidValue, match=r"not empty: it holds thesis\.txt"):
        fill(tmp_path, {"index.html": "x"})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_in_a_site_that_is_not_ours_is_not_overwritten(tmp_path):
    fill(tmp_path, {"index.html": "x"})
    (tmp_path / "runs.html").write_text("mine")
    with pytest.raises(InvalidValue, match=r"runs\.html exists and was not written by diskbench"):
        fill(tmp_path, {"index.html": "x", "runs.html": "y"})
    assert (tmp_path / "runs.html").read_text() == "mine"


KILLED = """
import os, pathlib, sys
from diskbench.store.site_folder import open_site
path = pathlib.Path(sys.argv[1])
with open_site(path) as site:
    site.claim(["index.html", "runs/1.html", "runs/2.html"])
    site.write("runs/1.html", b"y", "y")
    site.save()
    site.write("runs/2.html", b"written, and never noted", "z")
    (path / "runs/2.html.part").write_text("half")
    os.kill(os.getpid(), 9)
"""


def test_a_build_that_was_killed_is_taken_up(tmp_path):
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False).returncode == -9
    # Run 2 is gone meanwhile: what the dead one left of it is ours to remove.
    written, removed = fill(tmp_path, {"index.html": "x", "runs/1.html": "y"})
    assert (written, removed) == (["index.html"], ["runs/2.html"])
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["1.html"]


def test_a_kill_before_the_manifest_is_whole_leaves_a_folder_that_can_be_used(tmp_path):
    (tmp_path / MANIFEST).write_bytes(b"")
    assert fill(tmp_path, {"index.html": "x"}) == (["index.html"], [])


def test_a_page_that_somebody_deleted_or_cut_is_made_again(tmp_path):
    files = {"index.html": "x", "runs/1.html": "y"}
    fill(tmp_path, files)
    (tmp_path / "index.html").unlink()
    (tmp_path / "runs/1.html").write_text("")
    assert fill(tmp_path, files) == (["index.html", "runs/1.html"], [])


@pytest.mark.parametrize("name", ["../thesis.txt", "/etc/passwd", "runs/../../thesis.txt"])
def test_a_manifest_that_names_files_elsewhere_is_refused(tmp_path, name):
    site, thesis = tmp_path / "site", tmp_path / "thesis.txt"
    thesis.write_text("mine")
    fill(site, {"index.html": "x"})
    with closing(sqlite3.connect(site / MANIFEST)) as manifest, manifest:
        manifest.execute("INSERT INTO file VALUES (?, 'd', 4, NULL)", (name,))
    with pytest.raises(InvalidValue, match="not inside the site"):
        fill(site, {"index.html": "x"})
    assert thesis.read_text() == "mine"


@pytest.mark.parametrize("name", ["../thesis.txt", "/etc/passwd", "runs/../../thesis.txt"])
def test_a_former_manifest_that_names_files_elsewhere_is_refused(tmp_path, name):
    site, thesis = tmp_path / "site", tmp_path / "thesis.txt"
    thesis.write_text("mine")
    site.mkdir()
    (site / FORMER).write_text(json.dumps({"format": 1, "files": {name: {}}}))
    with pytest.raises(InvalidValue, match="not inside the site"):
        fill(site, {"index.html": "x"})
    assert thesis.read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"format": 1, "files": 1}', "cannot be read"),
        ('{"format": 3, "files": {}}', "of format 3"),
    ],
)
def test_a_former_manifest_that_nobody_can_read_is_told(tmp_path, text, told):
    (tmp_path / FORMER).write_text(text)
    with pytest.raises(InvalidValue, match=told):
        fill(tmp_path, {"index.html": "x"})
    assert (tmp_path / FORMER).read_text() == text


def test_a_manifest_that_is_no_database_is_told(tmp_path):
    (tmp_path / MANIFEST).write_text("a manifest of somebody else, long enough to be a header" * 9)
    with pytest.raises(InvalidValue, match="cannot be read or written"):
        fill(tmp_path, {"index.html": "x"})


def test_a_manifest_of_a_later_format_is_told(tmp_path):
    fill(tmp_path, {"index.html": "x"})
    with closing(sqlite3.connect(tmp_path / MANIFEST)) as manifest:
        manifest.execute("PRAGMA user_version = 3")
    with pytest.raises(InvalidValue, match="of format 3, this diskbench knows 2"):
        fill(tmp_path, {"index.html": "x"})


def test_the_files_of_a_former_manifest_are_ours_and_made_again(tmp_path):
    (tmp_path / "index.html").write_text("former")
    (tmp_path / "gone.html").write_text("former")
    known = {"digest": "x", "bytes": 6, "told": None}
    document = {"format": 1, "files": {"index.html": known, "gone.html": known}}
    (tmp_path / FORMER).write_text(json.dumps(document))
    assert fill(tmp_path, {"index.html": "x"}) == (["index.html"], ["gone.html"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [MANIFEST, "index.html"]


def test_two_do_not_publish_into_one_folder_at_once(tmp_path):
    with (
        open_site(tmp_path),
        pytest.raises(InvalidValue, match="another diskbench publishes there"),
        open_site(tmp_path),
    ):
        pass
    fill(tmp_path, {"index.html": "x"})


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidValue, match="cannot write to"):
        fill(tmp_path / "file" / "site", {"index.html": "x"})


def test_a_place_taken_by_a_folder_is_told(tmp_path):
    fill(tmp_path, {"index.html": "x"})
    (tmp_path / "index.html").unlink()
    (tmp_path / "index.html").mkdir()
    with pytest.raises(InvalidValue, match=r"cannot write .*index\.html"):
        fill(tmp_path, {"index.html": "x"})


def test_of_the_trials_of_a_site_those_are_outdated_whose_pages_are_not_wanted(tmp_path):
    many = [ShownTrial(f"{n:04}", f"trials/{n:04}.html", f"1:{n}") for n in range(1200)]
    with open_site(tmp_path / "site") as folder:
        folder.claim([many[0].name])
        folder.manifest.put_trial(TrialLines("gone", "k", "d", [("run", "1", "{}")]))
        folder.manifest.show(iter(many))
        assert folder.manifest.count_lines() == 0
        assert folder.manifest.new_pages() == [trial.name for trial in many[1:]]
        folder.claim(folder.manifest.new_pages())
        assert list(folder.manifest.pages()) == []
        for trial in many[1:]:
            folder.manifest.put_trial(TrialLines(trial.trial_id, "k", "d", []))
        assert {trial for trial, _ in folder.manifest.pages()} == set(many[1:])  # what is noted
        folder.manifest.want(trial.name for trial in many[::2])
        assert folder.manifest.count_outdated() == 600
        seen = []
        for trial in folder.manifest.outdated():
            seen.append(trial)
            if len(seen) % 3:
                folder.manifest.want([trial.name])  # every third is left out, as one that is gone
        assert seen == many[1::2][::-1]
