"""The order in which xdist's workers get the tests (tests/rigs/dealing.py)."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from tests.rigs.dealing import BY_FILE, LONG, TOGETHER, in_order, unit_of

ROOT = Path(__file__).parents[2]
IDS = [
    "tests/browser/test_site.py::test_a",
    "tests/docs/test_tutorial.py::test_a",
    "tests/drills/test_ids.py::test_a[1]",
    "tests/drills/test_yaml_bombs.py::test_a",
    "tests/run/test_until_ci.py::test_a",
    "tests/unit/test_a.py::test_a",
    "tests/unit/test_a.py::test_b",
    "tests/unit/test_a.py::test_c",
    "tests/unit/test_b.py::test_a",
    "tests/unit/test_b.py::test_b",
    "tests/unit/test_c.py::test_a",
    "tests/unit/test_c.py::test_b",
]


def test_every_test_is_dealt_once_and_a_unit_in_a_row() -> None:
    dealt = in_order(IDS)
    assert sorted(dealt) == sorted(IDS)
    units = [unit for unit, _ in groupby(dealt, unit_of)]
    assert len(units) == len(set(units))


def test_what_takes_long_comes_first_and_what_computes_last_by_size() -> None:
    assert [unit for unit, _ in groupby(in_order(IDS), unit_of)] == [
        "tests/docs/test_tutorial.py",
        "tests/drills/test_yaml_bombs.py",
        "tests/run/test_until_ci.py::test_a",
        "tests/browser/",
        "tests/drills/test_ids.py::test_a[1]",
        "tests/unit/test_b.py",
        "tests/unit/test_c.py",
        "tests/unit/test_a.py",
    ]


def test_each_place_is_a_file_or_folder_of_tests() -> None:
    absent = [place for place in (*LONG, *TOGETHER, *BY_FILE) if not (ROOT / place).exists()]
    assert absent == []
