"""The drill book: what is done to diskbench, and what must hold afterwards.

A drill is a test in `tests/drills/test_AREA.py` under the decorator `drill`. Its function name is
its name in the table of docs/safety.md, which `python -m tests.drills.book` writes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "safety.md"
BEGIN, END = "<!-- drills -->", "<!-- end of drills -->"
MARK = "drill"

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
    """Enter a test into the book: what is done, what must hold, and whether `script/test` runs it
    (`quick`) or only `script/test --all`."""

    def entered(test: Test) -> Test:
        marked = pytest.mark.drill(done=done, holds=holds, quick=quick)(test)
        marked = pytest.mark.slow(marked)
        return marked if quick else pytest.mark.thorough(marked)

    return entered


def drills() -> Iterator[Drill]:
    """Every drill of the book, by area, in the order of the files."""
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.drills.{path.stem}")
        for name, test in vars(module).items():
            marks = getattr(test, "pytestmark", [])
            entry = next((mark for mark in marks if mark.name == MARK), None)
            if entry is None or not name.startswith("test_"):
                continue
            cases = 1
            for mark in marks:
                if mark.name == "parametrize":
                    cases *= len(mark.args[1])
            yield Drill(
                area=path.stem.removeprefix("test_").replace("_", " "),
                name=name.removeprefix("test_").replace("_", " "),
                done=entry.kwargs["done"],
                holds=entry.kwargs["holds"],
                cases=cases,
                quick=entry.kwargs["quick"],
            )


def table() -> str:
    """The book as Markdown: a table for each area."""
    lines: list[str] = []
    area = ""
    for one in drills():
        if one.area != area:
            area = one.area
            lines += [
                "",
                f"### {area.capitalize()}",
                "",
                "| drill | what is done | what must hold | cases |",
                "| --- | --- | --- | --- |",
            ]
        name = one.name if one.quick else f"{one.name} (`--all`)"
        lines.append(f"| {name} | {one.done} | {one.holds} | {one.cases} |")
    return "\n".join(lines).strip() + "\n"


def page(text: str) -> str:
    """The page with its tables as the book has them now."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table()}{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
