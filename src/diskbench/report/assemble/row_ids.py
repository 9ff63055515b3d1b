"""The ids of rows on a page: a mark of a chart links to the row with its figure."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def row_id(of: str, step: str = "", direction: str = "") -> str:
    """`row-<id of a run or a trial>`, for one of its steps `row-<id>-<step>-<direction>`."""
    return "-".join(["row", *(_UNSAFE.sub("_", part) for part in (of, step, direction) if part)])


def row_href(of: str, step: str = "", direction: str = "") -> str:
    """The link to that row from anywhere on the same page."""
    return f"#{row_id(of, step, direction)}"
