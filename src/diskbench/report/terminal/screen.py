"""Standard output and standard error: every text for a terminal passes through this module.

Printed, logged and drawn text passes `Shown` or `Screen`, which make control characters visible
(diskbench/visible.py). The only escape sequences that reach the terminal are our own (colours,
cursor movements, live display): rich makes them, or they are marked as `OwnText`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

import rich.text
from rich.console import Console, RenderableType
from rich.live import Live
from rich.segment import Segment

from diskbench.visible import UNSEEN, visible

WIDE = 100_000
"""Width where no terminal sets a limit: a piped table is never cut."""


class OwnText(str):
    """Text with our own escape sequences; its foreign parts were made visible before."""

    __slots__ = ()


class Shown:
    """A text stream that writes only visible characters, line feeds, tabs and `OwnText`.

    It has no `buffer`: libraries that find a buffer would bypass this class.
    """

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        """Write `text`, made visible."""
        return self.unguarded.write(text if isinstance(text, OwnText) else visible(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of `lines`, made visible."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of the stream
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.unguarded, name)


def guard_streams() -> None:
    """Wrap standard output and standard error in `Shown`; repeated calls have no effect."""
    sys.stdout, sys.stderr = _shown(sys.stdout), _shown(sys.stderr)


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Wrap standard output and standard error in `Shown` inside the block."""
    before = sys.stdout, sys.stderr
    guard_streams()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def unguarded(stream: TextIO) -> TextIO:
    """The stream inside `Shown`: for bytes (Parquet) and for text that was made visible before."""
    return stream.unguarded if isinstance(stream, Shown) else stream


class _Screen(Console):
    def render(self, renderable: RenderableType, options: Any = None) -> Iterable[Segment]:  # noqa: ANN401
        for segment in super().render(renderable, options):
            if segment.control or not UNSEEN.search(segment.text):
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


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
        file=file,
        width=WIDE if unlimited else None,
        markup=False,
        emoji=False,
        highlight=False,
    )


class GuardedLive(Live):
    """A live display of rich on a `screen`. While it is open, other printed text passes `Shown`
    too, because rich would interpret its escape sequences as colours and links."""

    def start(self, refresh: bool = False) -> None:
        """Begin to display."""
        super().start(refresh)
        guard_streams()


def _shown(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, Shown) else cast("TextIO", Shown(stream))
