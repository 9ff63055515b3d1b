"""The columns that docs/api.md lists for a function that returns a frame."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| ([\w()]+) \|", re.MULTILINE)
PLACE = "place and disk"
"""The section of the columns that several frames have; they link to it."""


def documented(function: str) -> dict[str, str]:
    section = _section(rf"`{function}\(")
    columns = _columns(section)
    return columns | _columns(_section("Place and disk")) if f"[{PLACE}]" in section else columns


def _section(heading: str) -> str:
    found = re.search(rf"^## {heading}.*?(?=\n## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert found, heading
    return found[0]


def _columns(section: str) -> dict[str, str]:
    rows = ROW.findall(section)
    return {name: kind for names, kind in rows for name in re.findall(r"`(\w+)`", names)}
