"""Standard output and standard error: the one way out for text that a terminal shows.

Whatever is printed, logged or drawn passes `Shown` or `Screen`, which make control characters
visible (diskbench/visible.py). Colours, cursor movements and the live display are ours: they are
made by rich, or marked as `OwnText`, and are the only escape sequences that leave.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from diskbench.visible import UNSEEN, visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

WIDE = 100_000
"""Columns where no terminal sets a limit: no column and no row of a piped table is cut."""


class OwnText(str):
    """Text with escape sequences of our own making; foreign parts of it are made visible first."""

    __slots__ = ()


class Shown:
    """A text stream that writes nothing but visible characters, line feeds and tabs, and `OwnText`.

    It has no `buffer`: libraries that look for one would write past it.
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

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.unguarded, name)


def guard_streams() -> None:
    """Put `Shown` before standard output and standard error; any number of times."""
    sys.stdout, sys.stderr = _shown(sys.stdout), _shown(sys.stderr)


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Put `Shown` before standard output and standard error inside the block."""
    before = sys.stdout, sys.stderr
    guard_streams()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def unguarded(stream: TextIO) -> TextIO:
    """The stream behind `Shown`: for bytes (Parquet), and for what is made visible already."""
    return stream.unguarded if isinstance(stream, Shown) else stream


def screen(*, error: bool = False, stream: TextIO | None = None) -> Console:
    """A console of rich on standard output (`error`: standard error) that shows foreign text as it
    is: no control characters, no markup, no emoji codes.

    Where the stream is no terminal, nothing is cut: it is as wide as COLUMNS says, else unlimited.
    """
    from rich.console import Console
    from rich.segment import Segment

    _keep_controls_visible()

    class Screen(Console):
        def render(self, renderable: RenderableType, options: Any = None) -> Iterable[Segment]:  # noqa: ANN401
            for one in super().render(renderable, options):
                if one.control or not UNSEEN.search(one.text):
                    yield one
                else:
                    yield Segment(visible(one.text), one.style)

    file = unguarded(stream or (sys.stderr if error else sys.stdout))
    unlimited = not file.isatty() and not os.environ.get("COLUMNS", "").isdigit()
    return Screen(
        file=file,
        width=WIDE if unlimited else None,
        markup=False,
        emoji=False,
        highlight=False,
    )


def live(*args: Any, **kwargs: Any) -> Live:  # noqa: ANN401 - the arguments of rich.live.Live
    """A live display of rich on a `screen`. While it is open, what others print passes `Shown` too:
    rich reads escape sequences in it as colours and links."""
    from rich.live import Live

    class GuardedLive(Live):
        def start(self, refresh: bool = False) -> None:
            super().start(refresh)
            guard_streams()

    return GuardedLive(*args, **kwargs)


def _shown(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, Shown) else cast("TextIO", Shown(stream))


def _keep_controls_visible() -> None:
    """Let rich's texts replace control characters rather than drop five of them and pass on the
    others: so they are measured as they are shown, and columns stay straight."""
    import rich.text

    rich.text.strip_control_codes = visible  # type: ignore[attr-defined,assignment]
