"""The findings of `diskbench doctor` as a table that fits a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.model.finding import Finding

_GAP = "  "
_NARROWEST = 30
_FURTHER_LEFT = 4


def finding_lines(findings: Sequence[Finding], *, width: int = 80) -> Iterator[str]:
    """State, check, place and text of each finding, with its advice below. No line is longer than
    `width`, except for a single longer word."""
    rows = [(finding.state, finding.check, finding.where) for finding in findings]
    wide = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    indent = sum(wide) + len(_GAP) * 3
    room = max(width - indent, _NARROWEST)
    for finding, row in zip(findings, rows, strict=True):
        head = _GAP.join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)) + _GAP
        lines = _wrapped(finding.told, room)
        lines += _wrapped(f"→ {finding.advice}", room, "  ") if finding.advice else []
        if (
            lines and len(lines[0]) > room
        ):  # one long word, such as a path: on its own line, further left
            lines.insert(0, "")
        for number, line in enumerate(lines or [""]):
            # Paths are not broken, so that they can be copied.
            margin = indent if len(line) <= room else _FURTHER_LEFT
            yield ((head if number == 0 else " " * margin) + line).rstrip()


def _wrapped(text: str, room: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
