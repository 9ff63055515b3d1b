"""Text laid out in the columns of a terminal: wrapped, cut, aligned, a series in one line."""

import re
import shutil
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from diskbench.report.assemble.words import cut

_NARROWEST = 20
_COMMAND = re.compile(
    r"(?:\S*/)?(?:python[\d.]* -m|(?:uv )?pip3? install|uv tool)\b[^;]*|"  # extras.py
    r"\b(?:diskbench(?: [a-z-]+){1,2}|[a-z]+(?: [a-z][a-z-]*){1,3}(?= --?[a-z]))\b"
    r"(?: (?:--?[a-z][\w-]*|[a-z-]*[A-Z0-9_~./][^\s;,)]*|'[^']*'))*"
)
"""A command in a sentence, as far as its words are not those of prose."""
_KEPT = "\N{NO-BREAK SPACE}"
_GAP = "  "
_LEVELS = "▁▂▃▄▅▆▇█"


def wrapped(lead: str, text: str, width: int, *, indent: int | None = None) -> list[str]:
    """`text` after `lead`, wrapped at `width` columns; no line for an empty text. Further lines are
    indented by the lead's length, or by `indent`. Words and commands are never cut, so that a path,
    a command or an id can be copied."""
    if not text:
        return []
    lines = textwrap.wrap(
        _COMMAND.sub(lambda command: command[0].replace(" ", _KEPT), text),
        max(width, len(lead) + _NARROWEST),
        initial_indent=lead,
        subsequent_indent=" " * (len(lead) if indent is None else indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_KEPT, " ") for line in lines]


def hanging(label: str, text: str, *, width: int | None = None, indent: int | None = None) -> str:
    """The lines of `wrapped` at COLUMNS, else the terminal's width, else 80; of an empty text the
    label."""
    wide = shutil.get_terminal_size().columns if width is None else width
    lines = wrapped(label, " ".join(text.split()), wide, indent=indent)
    return "\n".join(lines or [label.rstrip()])


def sparkline(values: Sequence[float], *, width: int = 24) -> str:
    """`values` as at most `width` blocks, from zero to their maximum; empty for no values.

    The scale starts at zero, so that half the value has half the height. More values than `width`
    are averaged in groups of nearly equal size.
    """
    if not values or width < 1:
        return ""
    shown = list(values)
    if len(shown) > width:
        edges = [round(i * len(shown) / width) for i in range(width + 1)]
        shown = [fmean(values[a:b]) for a, b in pairwise(edges)]
    top = max(shown)
    if top <= 0:
        return _LEVELS[0] * len(shown)
    last = len(_LEVELS) - 1
    return "".join(_LEVELS[max(0, min(last, round(value / top * last)))] for value in shown)


def aligned(
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    least: Mapping[int, int] | None = None,
    width: int | None = None,
    fit: Callable[[str, int], str] = cut,
) -> Iterator[str]:
    """Rows of cells in columns as wide as their longest cell; those of the places in `right` end
    below each other. Where a line would be longer than `width` (None: any length), the columns in
    `least` are cut by `fit`, in that order, to no fewer characters than they have there."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for at, fewest in (least or {}).items():
        over = 0 if width is None else sum(widths) + len(_GAP) * (len(widths) - 1) - width
        widths[at] = max(min(widths[at], fewest), widths[at] - max(over, 0))
    for row in rows:
        cells = (
            f"{fit(cell, wide):{'>' if at in right else '<'}{wide}}"
            for at, (cell, wide) in enumerate(zip(row, widths, strict=True))
        )
        yield _GAP.join(cells).rstrip()
