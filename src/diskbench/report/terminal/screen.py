"""The console that tables and displays are drawn on, and text laid out in its columns: wrapped,
cut, a series in one line, without trailing blanks."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any, TextIO

import rich.text
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.live import Live
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from diskbench.report.assemble.words import cut
from diskbench.report.terminal.streams import guard_streams, unguarded
from diskbench.visible import UNSEEN, visible

WIDE = 100_000
"""Width where no terminal sets a limit: a piped table is never cut."""


class _Screen(Console):
    def render(self, renderable: RenderableType, options: Any = None) -> Iterable[Segment]:  # noqa: ANN401
        for segment in super().render(renderable, options):
            is_ours = segment.control or not UNSEEN.search(segment.text)
            yield segment if is_ours else Segment(visible(segment.text), segment.style)


def screen(*, error: bool = False, stream: TextIO | None = None) -> Console:
    """A console of rich on standard output (`error`: standard error) that shows foreign text as it
    is: no control characters, no markup, no emoji codes.

    If the stream is not a terminal, nothing is cut: the width is COLUMNS, or else unlimited.
    """
    # Rich by itself drops five control characters and passes on the rest. Replaced, texts are
    # measured as they are shown, and columns stay aligned.
    rich.text.strip_control_codes = visible  # type: ignore[attr-defined,assignment]
    file = unguarded(stream or (sys.stderr if error else sys.stdout))
    unlimited = not file.isatty() and not os.environ.get("COLUMNS", "").isdigit()
    return _Screen(
        file=file, width=WIDE if unlimited else None, markup=False, emoji=False, highlight=False
    )


class GuardedLive(Live):
    """A live display of rich on a `screen`. While it is open, other printed text passes `Shown`
    too, because rich would interpret its escape sequences as colours and links."""

    def start(self, refresh: bool = False) -> None:
        """Begin to display."""
        super().start(refresh)
        guard_streams()


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


_LEAST = 8
"""Fewest characters that are left of a text; our choice."""


@dataclass(frozen=True)
class Fitted:
    """`text` on one line for each of its own, as wide as the column. A name is cut in its `middle`:
    its end, the replicate, tells cells apart. `beside` are the characters of the table that other
    columns need before this one may be wide."""

    text: str
    middle: bool = False
    beside: int = 0

    @property
    def _lines(self) -> list[str]:
        return visible(self.text).expandtabs().split("\n")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        most = max(map(cell_len, self._lines))
        room = min(options.max_width, max(_LEAST, console.width - self.beside))
        return Measurement(min(most, _LEAST), min(most, room))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line in self._lines:
            yield Text(cut(line, options.max_width, middle=self.middle), no_wrap=True)


def print_trimmed(console: Console, *shown: RenderableType) -> None:
    """Print; if the console is not a terminal, trailing blanks are removed from each line."""
    if console.is_terminal:
        console.print(*shown)
        return
    with console.capture() as captured:
        console.print(*shown)
    text = captured.get()
    console.file.write("".join(f"{line.rstrip()}\n" for line in text.splitlines()))
