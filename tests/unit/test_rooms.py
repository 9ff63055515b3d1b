"""The table of what runs always (tests/rooms.py): its patterns name tests, its page shows it."""

from __future__ import annotations

import ast
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
