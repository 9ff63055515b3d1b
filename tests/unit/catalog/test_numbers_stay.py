"""Limits, expectations and prices of every disk type are those that were reviewed."""

from __future__ import annotations

from pathlib import Path

from tests.cases.catalogue import make

from diskbench.catalog.entry import clouds

REVIEWED = Path(make.__file__).with_name("numbers.txt")


def test_what_the_catalogue_makes_of_every_disk_is_as_it_was_reviewed() -> None:
    assert list(make.lines()) == REVIEWED.read_text(encoding="utf-8").splitlines()


def test_every_provider_that_ships_disk_types_is_among_them() -> None:
    assert set(clouds()) >= set(make.MACHINES)
