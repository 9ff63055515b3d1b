"""The console of rich that tables and displays are drawn on: foreign text is shown as it is, cells
are cut, lines have no trailing blanks."""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
    unlimited = not file.isatty() and not os.environ.get("COLUMNS", "").isdecimal()
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
