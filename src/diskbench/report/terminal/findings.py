"""What the doctor found, as a table that fits a terminal."""

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
    """State, check, place and words of each finding, its advice below; no line is longer than
    `width` unless one word is."""
    rows = [(one.state, one.check, one.where) for one in findings]
    wide = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    indent = sum(wide) + len(_GAP) * 3
    room = max(width - indent, _NARROWEST)
    for one, row in zip(findings, rows, strict=True):
        head = _GAP.join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)) + _GAP
        told = _wrapped(one.told, room)
        told += _wrapped(f"→ {one.advice}", room, "  ") if one.advice else []
        if told and len(told[0]) > room:  # one long word, as of a path: below, further to the left
            told.insert(0, "")
        for number, line in enumerate(told or [""]):
            # A path is not broken: it would be copied in pieces.
            left = indent if len(line) <= room else _FURTHER_LEFT
            yield ((head if number == 0 else " " * left) + line).rstrip()


def _wrapped(text: str, room: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
