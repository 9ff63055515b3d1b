"""The drill book: what is done to diskbench, and what must hold afterwards.

A drill is a test in `tests/drills/test_AREA.py` under the decorator `drill`. Its function name is
its name in docs/evidence/drills.md, which `python -m tests.drills.book` writes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest
from tests.rooms import has_quick_case

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "evidence" / "drills.md"
MARK = "drill"
_NOT_IN_A_CELL = ("|", "\n")
"""What would end a cell of the table."""

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True)
class Drill:
    """One row of the table. `cases` are the parameters it is tried with, each a test of its own."""

    area: str
    name: str
    done: str
    holds: str
    cases: int
    quick: bool


def drill(*, done: str, holds: str, quick: bool = True) -> Callable[[Test], Test]:
    """Enter a test into the book: what is done, what must hold, and whether `script/test` runs any
    case of it or only `script/test --all` does: that is so for one that is not `quick`, and for
    what tests/rooms.py does not keep. Raises ValueError for words that break the table."""
    for words in (done, holds):
        if not words.strip() or any(one in words for one in _NOT_IN_A_CELL):
            raise ValueError(f"a drill is described in one line without '|', not by {words!r}")

    def entered(test: Test) -> Test:
        place = test.__module__.replace(".", "/")
        kept = quick and has_quick_case(f"{place}.py::{test.__name__}")
        marked = pytest.mark.drill(done=done, holds=holds, quick=kept)(test)
        marked = pytest.mark.slow(marked)
        return marked if quick else pytest.mark.thorough(marked)  # conftest.py asks by case

    return entered


def modules() -> Iterator[tuple[str, ModuleType]]:
    """Every module of drills with its area, by name."""
    for path in sorted(HERE.glob("test_*.py")):
        area = path.stem.removeprefix("test_").replace("_", " ")
        yield area, importlib.import_module(f"tests.drills.{path.stem}")


def tests_of(module: ModuleType) -> list[Callable[..., Any]]:
    """The tests that a module defines, in order; classes of tests are not used for drills."""
    own = [one for name, one in vars(module).items() if name.startswith("test_") and callable(one)]
    return [one for one in own if one.__module__ == module.__name__]


def entry_of(test: Callable[..., Any]) -> pytest.Mark | None:
    """What the decorator entered; None for a test without it."""
    return next((mark for mark in _marks(test) if mark.name == MARK), None)


def drills() -> Iterator[Drill]:
    """Every drill of the book, by area, in the order of the files."""
    for area, module in modules():
        for test in tests_of(module):
            if entry := entry_of(test):
                yield _drill(area, test, entry)


def page(rows: Sequence[Drill]) -> str:
    """The text of docs/evidence/drills.md: how many drills there are, and the names by area."""
    cases = sum(one.cases for one in rows)
    quick = sum(one.quick for one in rows)
    lines = [
        "# Drills",
        "",
        "<!-- try: {parsed: it writes into the checkout} -->",
        f"{len(rows)} drills with {cases} cases; `script/test` runs {quick} of them,",
        "`script/test --all` also those with *; a number is that of cases. What each breaks",
        "and what must hold is in `tests/drills/test_AREA.py`.",
        "`python -m tests.drills.book` writes this page.",
    ]
    area = None
    for one in rows:
        if one.area != area:
            lines += ["```"] if area else []
            area = one.area
            lines += ["", f"## {area.capitalize()}", "", "```text"]
        name = one.name if one.quick else f"{one.name} *"
        lines.append(f"{name} ({one.cases})" if one.cases > 1 else name)
    return "\n".join([*lines, "```"]) + "\n"


def _drill(area: str, test: Callable[..., Any], entry: pytest.Mark) -> Drill:
    cases = 1
    for mark in _marks(test):
        if mark.name == "parametrize":
            cases *= len(mark.args[1])
    return Drill(
        area=area,
        name=test.__name__.removeprefix("test_").replace("_", " "),
        done=entry.kwargs["done"],
        holds=entry.kwargs["holds"],
        cases=cases,
        quick=entry.kwargs["quick"],
    )


def _marks(test: Callable[..., Any]) -> Sequence[pytest.Mark]:
    found: Sequence[pytest.Mark] = getattr(test, "pytestmark", [])
    return found


if __name__ == "__main__":
    PAGE.write_text(page(list(drills())))
