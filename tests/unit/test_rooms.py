"""The table of what runs always (tests/rooms.py): its patterns name tests, its page shows it."""

from __future__ import annotations

import ast
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests import rooms

ROOT = Path(__file__).parents[2]


def functions(prefix: str) -> set[str]:
    """`FILE::TEST` of each test below a prefix, without cases."""
    place = ROOT / prefix.removesuffix("::")
    files = [place] if place.is_file() else sorted(place.glob("test_*.py"))
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                found.add(node.name if place.is_file() else f"{file.name}::{node.name}")
    return found


@pytest.mark.parametrize("room", rooms.ROOMS, ids=lambda room: room.prefix)
def test_each_pattern_names_a_test(room: rooms.Room) -> None:
    tests = functions(room.prefix)
    assert tests, f"{room.prefix} is no folder or file of tests"
    # Cases stand in brackets behind a test's name: what precedes them has to fit.
    idle = [
        pattern
        for pattern in room.kept
        if not any(fnmatchcase(test, pattern.partition("[[]")[0]) for test in tests)
    ]
    assert idle == []


def test_only_what_a_room_keeps_runs_always() -> None:
    assert rooms.is_thorough("tests/qemu/test_array.py::test_x")
    assert rooms.is_thorough("tests/contract/test_provider.py::test_x[aws]")
    assert not rooms.is_thorough("tests/contract/test_provider.py::test_x[fake]")
    assert not rooms.is_thorough("tests/contract/test_provider.py::test_x[fake-2]")
    assert not rooms.is_thorough("tests/unit/test_rooms.py::test_x")


def test_one_disk_of_each_cloud_is_rented_always() -> None:
    [cloud] = [room for room in rooms.ROOMS if room.prefix == "tests/cloud/"]
    rented = {pattern.split("_")[1] for pattern in cloud.kept if "_end_to_end" in pattern}
    assert rented == {"aws", "azure", "gcp", "vsphere"}


def test_contributing_shows_the_table() -> None:
    text = rooms.PAGE.read_text("utf-8")
    assert rooms.page(text) == text, "run python -m tests.rooms"


def test_a_costly_room_is_a_folder_of_the_source_and_of_the_tests() -> None:
    for room in rooms.COSTLY:
        assert (ROOT / "src/diskbench" / room).is_dir(), room
        assert (ROOT / "tests/unit" / room).is_dir(), room


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        ([], set()),
        (["src/diskbench/model/plan.py", "README.md"], set()),
        (["src/diskbench/store/rows.py"], {"store"}),
        (["tests/unit/cli/test_compare.py", "src/diskbench/engine/live.py"], {"cli", "engine"}),
        (["src/diskbench/providers/lab/disks.py"], {"providers/lab"}),
        (["src/diskbench/providers/aws/errors.py"], set()),
        (["tests/rigs/cli.py"], set(rooms.COSTLY)),
        (["tests/golden/help/run.txt"], set(rooms.COSTLY)),
    ],
)
def test_a_room_is_touched_by_its_own_files_and_by_what_all_tests_use(
    changed: list[str], touched: set[str]
) -> None:
    assert set(rooms.COSTLY) - set(rooms.untouched(changed)) == touched


def test_what_changed_is_what_differs_from_main_or_on_main_from_the_commit_before(
    tmp_path: Path,
) -> None:
    assert rooms.changed_files(tmp_path) is None, "no checkout"

    def git(*words: str) -> None:
        user = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false")
        subprocess.run(["git", *user, *words], cwd=tmp_path, check=True, capture_output=True)

    def commit(name: str) -> None:
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "-m", name)

    git("init", "--initial-branch=main")
    commit("a")
    assert rooms.changed_files(tmp_path) is None, "there is no commit before"
    commit("b")
    (tmp_path / "new").write_text("new")
    assert rooms.changed_files(tmp_path) == ["b", "new"]
    git("checkout", "-b", "mine")
    commit("c")
    commit("d")
    (tmp_path / "a").write_text("changed")
    assert rooms.changed_files(tmp_path) == ["a", "c", "d", "new"]
