"""Drills end a process at a call that they name: each name is of a function that is there."""

import importlib
import re
from functools import reduce
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PLACE = re.compile(r"\b(?:before|after) (diskbench(?:\.\w+)+:\w+(?:\.\w+)*) \d")
PLACES = sorted(
    {place for path in TESTS.rglob("*.py") for place in PLACE.findall(path.read_text("utf-8"))}
)


@pytest.mark.parametrize("place", PLACES)
def test_the_call_at_which_a_drill_ends_a_process_is_there(place: str) -> None:
    module, _, names = place.partition(":")
    assert callable(reduce(getattr, names.split("."), importlib.import_module(module)))
