"""The drill book: docs/evidence/drills.md names every test of this folder, by area.

A drill breaks something on purpose. Its function's name is the promise that must hold, its first
words say what is done. `python -m tests.drills.book` writes the page."""

import importlib
from dataclasses import dataclass
from pathlib import Path

from tests.rooms import has_quick_case

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "evidence" / "drills.md"


@dataclass(frozen=True)
class Drill:
    """One drill: `cases` are tests of their own; a `quick` one has some in `script/test`."""

    area: str
    name: str
    cases: int
    quick: bool


def drills():
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.drills.{path.stem}")
        area = path.stem.removeprefix("test_").replace("_", " ")
        for name, test in vars(module).items():
            if name.startswith("test_") and test.__module__ == module.__name__:
                yield _drill(area, test, f"tests/drills/{path.name}::{name}")


def page(rows):
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


def _drill(area, test, test_id):
    marks = getattr(test, "pytestmark", [])
    cases = 1
    for mark in marks:
        if mark.name == "parametrize":
            cases *= len(mark.args[1])
    return Drill(
        area=area,
        name=test.__name__.removeprefix("test_").replace("_", " "),
        cases=cases,
        quick=has_quick_case(test_id) and all(mark.name != "thorough" for mark in marks),
    )


if __name__ == "__main__":
    PAGE.write_text(page(list(drills())))
