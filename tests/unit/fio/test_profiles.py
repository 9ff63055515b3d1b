"""Profiles: front matter is checked, plain job files are profiles, shipped ones are found."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from diskbench.errors import ProfileError, UnknownName
from diskbench.fio.profiles import parse_profile, shipped_names, shipped_profile
from diskbench.store.profile_file import find_profile

HEAD = "title: t\nquestion: q\nsource: s\n"
SHIPPED = [
    "quick",
    "default",
    "sweep",
    "oltp",
    "wal",
    "burst",
    "fill",
    "snia-iops",
    "gobonniego",
    "bonnie",
    "hdparm",
    "dd",
    "diskspd",
    "ebs-randrw",
    "offered-load",
    "sustained",
    "soak",
    "etcd",
]
REPOSITORY = Path(__file__).resolve().parents[3]


def test_every_promised_profile_is_shipped_with_title_question_and_source():
    assert set(shipped_names()) == set(SHIPPED)
    for name in SHIPPED:
        profile = shipped_profile(name)
        assert profile.title
        assert profile.question.endswith("?")
        assert len(profile.source) > 20


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(UnknownName) as caught:
        find_profile("quik")
    assert "quick" in caught.value.advice


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ProfileError, match=r"none\.fio"):
        find_profile(str(tmp_path / "none.fio"))


def test_a_plain_job_file_is_a_profile_named_after_the_file(tmp_path):
    path = tmp_path / "mine.fio"
    path.write_text("[a]\nrw=read\n")
    profile = find_profile(str(path))
    assert (profile.name, profile.is_template) == ("mine", False)


def test_a_binary_file_is_no_profile(tmp_path):
    path = tmp_path / "x.fio"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProfileError, match="cannot be read"):
        find_profile(str(path))


@pytest.mark.parametrize(
    ("matter", "named"),
    [
        ("title: t\n", "question"),
        (HEAD + "colour: red\n", "colour"),
        (HEAD + "targets: [tape]\n", "targets"),
        (HEAD + "targets: []\n", "targets"),
        (HEAD + "page_cache: maybe\n", "page_cache"),
        (HEAD + "filesystem: btrfs\n", "filesystem"),
        (HEAD + "roles: {a: hero}\n", "roles"),
        (HEAD + "parameters: {a: {default: 1}}\n", "help"),
        (HEAD + "parameters: {a: 1}\n", "parameters"),
        (HEAD + "parameters: {A-B: {default: 1, help: h}}\n", "name"),
        (HEAD + "parameters: {a: {default: 1, help: h, kind: colour}}\n", "kind"),
        (HEAD + "loop: {tracked: a, direction: up}\n", "direction"),
        (
            HEAD + "loop: {tracked: a, direction: read, min_rounds: 9, max_rounds: 6}\n",
            "max_rounds",
        ),
        (HEAD + "drop_caches_every_s: 0\n", "drop_caches_every_s"),
        ("[1, 2]\n", "front matter"),
        ("a: [\n", "YAML"),
    ],
)
def test_a_mistake_in_the_front_matter_is_named(matter, named):
    with pytest.raises(ProfileError, match=named):
        parse_profile(f"---\n{matter}---\n[a]\nrw=read\n", name="mine")


def test_front_matter_without_an_end_is_named():
    with pytest.raises(ProfileError, match="no end"):
        parse_profile("---\ntitle: t\n[a]\n", name="mine")


def test_the_digest_changes_with_any_letter():
    texts = [f"---\n{HEAD}---\n[a]\nrw={rw}\n" for rw in ("read", "write")]
    assert len({parse_profile(text, name="x").digest for text in texts}) == 2


@pytest.mark.slow
def test_the_wheel_carries_the_profiles_and_finds_them(tmp_path):
    subprocess.run(
        ["uv", "build", "--wheel", "--out-dir", str(tmp_path), str(REPOSITORY)],
        capture_output=True,
        timeout=240,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    code = (
        "import diskbench, json, diskbench.fio.profiles as p, diskbench.fio.guard as g; "
        "assert g.harmless(); print(diskbench.__file__); print(json.dumps(p.shipped_names()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    place, names = done.stdout.splitlines()
    assert place.startswith(str(site))
    assert all(f'"{name}"' in names for name in SHIPPED)
