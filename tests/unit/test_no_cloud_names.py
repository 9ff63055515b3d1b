"""A provider is one folder: no room but its own and migrations name it."""

import re
from pathlib import Path

import pytest

import diskbench

SOURCE = Path(diskbench.__file__).parent
NAMES = re.compile(r"\b(aws|azure|gcp|google|vsphere|ebs)\b", re.IGNORECASE)
OWN = ("providers/", "store/migrations/")
"""Rooms that name providers: their own, with their catalogues, and migrations."""
PUBLISHED = (
    "report/published", "plan/published", "engine/published", "cli/published", "catalog/published",
)  # fmt: skip
"""What draws and reads the posts of others names the clouds that they measured."""


def rooms() -> list[str]:
    every = (str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))
    return sorted(one for one in every if not one.startswith((*OWN, *PUBLISHED)))


@pytest.mark.parametrize("room", sorted({one.partition("/")[0] for one in rooms()}))
def test_no_cloud_is_named_outside_its_folder(room: str):
    found = [
        f"{one}:{number}: {line.strip()}"
        for one in rooms()
        if one.partition("/")[0] == room
        for number, line in enumerate((SOURCE / one).read_text().splitlines(), 1)
        if NAMES.search(line)
    ]
    assert not found, "\n".join(found)
