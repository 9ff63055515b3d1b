"""The table of what runs always (tests/rooms.py): its patterns name tests, its page shows it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests import rooms

ROOT = Path(__file__).parents[2]


def files_of(room: rooms.Room) -> set[str]:
    """Files of tests below the root of the checkout."""
    place = ROOT / room.prefix.removesuffix("::")
    files = [place] if place.is_file() else place.glob("test_*.py")
    return {str(file.relative_to(ROOT)) for file in files}


@pytest.mark.parametrize("room", rooms.ROOMS, ids=lambda room: room.prefix)
def test_each_pattern_fits_a_test(room: rooms.Room, collected: list[str]) -> None:
    """Of the files that this session collected: script/test collects all."""
    files = files_of(room)
    assert files, f"{room.prefix} is not a folder or file of tests"
    ours = [test_id for test_id in collected if test_id.startswith(room.prefix)]
    absent = files - {test_id.partition("::")[0] for test_id in ours}
    named = {pattern: file_of(room, pattern) for pattern in (*room.kept, *room.repeats)}
    idle = [
        pattern
        for pattern, file in named.items()
        if file not in absent and not keeps_any(room, pattern, ours)
    ]
    assert idle == []


def file_of(room: rooms.Room, pattern: str) -> str:
    return f"{room.prefix}{pattern}".partition("::")[0]


def keeps_any(room: rooms.Room, pattern: str, test_ids: list[str]) -> bool:
    return any(fnmatchcase(test_id.removeprefix(room.prefix), pattern) for test_id in test_ids)


def test_a_pattern_of_cases_that_are_no_longer_there_keeps_nothing() -> None:
    """The contract of providers was kept by the names of cases, and became classes."""
    [room] = [one for one in rooms.ROOMS if one.prefix == "tests/contract/test_provider.py::"]
    ids = [f"{room.prefix}TestFake::test_it_is_a_renter"]
    assert not keeps_any(room, "*[[]fake*", ids)
    assert keeps_any(room, "TestFake::*", ids)


def test_only_what_a_room_keeps_runs_always() -> None:
    assert rooms.is_thorough("tests/qemu/test_array.py::test_x")
    assert rooms.is_thorough("tests/contract/test_provider.py::TestAws::test_x")
    assert not rooms.is_thorough("tests/contract/test_provider.py::TestAwsEndToEnd::test_x")
    assert not rooms.is_thorough("tests/contract/test_provider.py::TestFake::test_x[2]")
    assert not rooms.is_thorough("tests/unit/test_rooms.py::test_x")
    guard = "tests/drills/test_guard.py::test_no_other_process_gets_a_disk_that_a_step_holds"
    assert not rooms.is_thorough(guard)
    assert not rooms.is_thorough(f"{guard}[before fio-mkswap]")
    assert rooms.is_thorough(f"{guard}[before fio-mkfs]")
    copies = "tests/drills/test_copies.py::test_a_copied_data_directory_acts_on_itself"
    assert rooms.has_quick_case(copies)
    assert not rooms.is_thorough(f"{copies}[cp -r]")
    assert rooms.is_thorough(f"{copies}[cp -rL]")


def test_one_disk_of_each_cloud_is_rented_always() -> None:
    [cloud] = [room for room in rooms.ROOMS if room.prefix == "tests/cloud/"]
    disks = [pattern for pattern in cloud.kept if "test_end_to_end" in pattern]
    rented = {pattern.partition("[[]")[2].split()[0] for pattern in disks}
    assert rented == {"aws", "azure", "gcp", "vsphere"}


def test_contributing_shows_the_table() -> None:
    text = rooms.PAGE.read_text("utf-8")
    assert rooms.page(text) == text, "run python -m tests.rooms"
