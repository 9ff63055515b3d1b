import json
import subprocess
import sys

import pytest

from diskbench.errors import InvalidValue
from diskbench.store.site_folder import MANIFEST, open_site


def fill(path, files, *, only=None):
    """Publish `files` (name → text, which is its own digest); returns what was touched."""
    with open_site(path) as site:
        site.claim(files)
        for name, text in files.items():
            if site.fresh(name, text) is None:
                site.write(name, text.encode(), text, {"said": text})
        site.keep_only(files if only is None else only)
        return site.written, site.removed


def test_a_site_is_made_where_nothing_is_or_a_manifest_was_not_whole_when_it_was_killed(tmp_path):
    (tmp_path / f"{MANIFEST}.part").write_text("{")
    assert fill(tmp_path, {"index.html": "x"}) == (["index.html"], [])
    both = {"index.html": "x", "runs/1.html": "y"}
    assert fill(tmp_path / "a" / "b", both) == (["index.html", "runs/1.html"], [])
    assert (tmp_path / "a/b/runs/1.html").read_text() == "y"


def test_the_second_time_nothing_is_written_but_pages_that_somebody_deleted_or_cut(tmp_path):
    files = {"index.html": "x", "runs/1.html": "y"}
    fill(tmp_path, files)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}
    assert fill(tmp_path, files) == ([], [])
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")} == times
    with open_site(tmp_path) as site:
        assert site.fresh("index.html", "x").quoted == {"said": "x"}, "what other pages quote"
    fill(tmp_path, files)
    (tmp_path / "index.html").unlink()
    (tmp_path / "runs/1.html").write_text("")
    assert fill(tmp_path, files) == (["index.html", "runs/1.html"], [])


def test_a_page_made_of_something_else_but_alike_keeps_its_file(tmp_path):
    fill(tmp_path, {"index.html": "x"})
    before = (tmp_path / "index.html").stat().st_mtime_ns
    with open_site(tmp_path) as site:
        assert site.fresh("index.html", "other") is None
        site.write("index.html", b"x", "other")
        assert site.written == []
    assert (tmp_path / "index.html").stat().st_mtime_ns == before


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


def test_a_file_or_folder_in_a_site_that_is_not_ours_is_not_touched(tmp_path):
    fill(tmp_path, {"index.html": "x"})
    (tmp_path / "runs.html").write_text("mine")
    with pytest.raises(InvalidValue, match=r"runs\.html exists and was not written by diskbench"):
        fill(tmp_path, {"index.html": "x", "runs.html": "y"})
    assert (tmp_path / "runs.html").read_text() == "mine"
    fill(tmp_path, {"index.html": "x"})
    (tmp_path / "evidence/1").mkdir(parents=True)
    (tmp_path / "evidence/1/thesis.txt").write_text("mine")
    with (
        open_site(tmp_path) as site,
        pytest.raises(InvalidValue, match=r"evidence/1 exists and was not written by diskbench"),
    ):
        site.claim(["evidence/1/"])
    fill(tmp_path, {"index.html": "y"})
    assert (tmp_path / "evidence/1/thesis.txt").read_text() == "mine"


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


@pytest.mark.parametrize("name", ["../thesis.txt", "/etc/passwd", "runs/../../thesis.txt"])
@pytest.mark.parametrize("kind", ["files", "folders"])
def test_a_manifest_that_names_files_elsewhere_is_refused(tmp_path, name, kind):
    site, thesis = tmp_path / "site", tmp_path / "thesis.txt"
    thesis.write_text("mine")
    fill(site, {"index.html": "x"})
    document = json.loads((site / MANIFEST).read_text())
    document["files"] = {name: ["d", 4, None]} if kind == "files" else {}
    document["folders"] = [name] if kind == "folders" else []
    (site / MANIFEST).write_text(json.dumps(document))
    with pytest.raises(InvalidValue, match="not inside the site"):
        fill(site, {"index.html": "x"})
    assert thesis.read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"format": 1, "files": 1}', "cannot be read"),
        ('{"format": 1, "folders": [], "files": {"a": 1}}', "cannot be read"),
        ('{"format": 2, "files": {}}', "of format 2, this diskbench knows 1"),
    ],
)
def test_a_manifest_that_nobody_can_read_is_told(tmp_path, text, told):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InvalidValue, match=told):
        fill(tmp_path, {"index.html": "x"})
    assert (tmp_path / MANIFEST).read_text() == text


def test_a_folder_of_ours_is_claimed_whole_and_goes_whole(tmp_path):
    (tmp_path / "evidence").mkdir(parents=True)
    (tmp_path / MANIFEST).write_text('{"format": 1, "folders": [], "files": {}}')
    with open_site(tmp_path) as site:
        site.claim(["evidence/1/", "evidence/2/", "index.html"])
        for name in ("evidence/1/a/b.json", "evidence/2/b.json", "index.html"):
            site.claim([name])
            site.write(name, b"x", name)
        (tmp_path / "evidence/2/c.json.part").write_text("of a build that was killed")
        site.keep_only(["index.html", "evidence/1/", "evidence/1/a/b.json"])
        assert site.removed == ["evidence/2/b.json", "evidence/2/c.json.part"]
    with open_site(tmp_path) as site:
        assert site.has("evidence/1/a/b.json")
        site.keep_only(["index.html"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [MANIFEST, "index.html"]


def test_two_at_once_and_a_folder_that_cannot_be_made_or_takes_a_page_s_place_are_told(tmp_path):
    with (
        open_site(tmp_path),
        pytest.raises(InvalidValue, match="another diskbench publishes there"),
        open_site(tmp_path),
    ):
        pass
    fill(tmp_path, {"index.html": "x"})
    fill(tmp_path, {"index.html": "x"})
    with pytest.raises(InvalidValue, match="cannot write to"):
        fill(tmp_path / "index.html" / "site", {"index.html": "x"})
    (tmp_path / "index.html").unlink()
    (tmp_path / "index.html").mkdir()
    with pytest.raises(InvalidValue, match=r"cannot write .*index\.html"):
        fill(tmp_path, {"index.html": "x"})
