"""A provider is one folder: no room but its own, the catalogue's data and migrations name it."""

import re
from pathlib import Path

import pytest

import diskbench

SOURCE = Path(diskbench.__file__).parent
NAMES = re.compile(r"\b(aws|azure|gcp|google|vsphere|ebs)\b", re.IGNORECASE)
OWN = ("providers/", "catalog/", "store/migrations/")
"""Rooms that name providers: their own, the catalogue, and migrations, which never change."""
PUBLISHED = ("report/published", "plan/published", "engine/published", "cli/published")
"""What draws and reads the posts of others names the clouds that they measured."""
OF_CATALOGUE = frozenset({
    "cli/catalog.py", "engine/refreshed.py", "plan/as_disk.py", "plan/expectation.py",
    "plan/recognise.py", "plan/route.py", "plan/way.py", "report/catalog_text.py",
    "report/charts/point.py",
})  # fmt: skip
"""Files whose names go with the catalogue's: none may be added."""


def rooms() -> list[str]:
    every = (str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))
    return sorted(one for one in every if not one.startswith((*OWN, *PUBLISHED)))


@pytest.mark.parametrize("room", sorted({one.partition("/")[0] for one in rooms()}))
def test_no_cloud_is_named_outside_its_folder(room: str):
    found = [
        f"{one}:{number}: {line.strip()}"
        for one in rooms()
        if one.partition("/")[0] == room and one not in OF_CATALOGUE
        for number, line in enumerate((SOURCE / one).read_text().splitlines(), 1)
        if NAMES.search(line)
    ]
    assert not found, "\n".join(found)
