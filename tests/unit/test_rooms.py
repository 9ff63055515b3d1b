"""The table of what runs always (tests/rooms.py): its patterns name tests, its page shows it."""

import fnmatch
from pathlib import Path

import pytest
from tests import rooms

ROOT = Path(__file__).parents[2]


def files_of(room: rooms.Room) -> set[str]:
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
    idle = [
        pattern
        for pattern in (f"{room.prefix}{one}" for one in (*room.kept, *room.repeats))
        if pattern.partition("::")[0] not in absent and not fnmatch.filter(ours, pattern)
    ]
    assert idle == []


def test_contributing_shows_the_table() -> None:
    text = rooms.PAGE.read_text("utf-8")
    assert rooms.page(text) == text, "run python -m tests.rooms"
