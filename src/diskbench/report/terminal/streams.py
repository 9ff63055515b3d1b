"""Standard output and standard error: all printed and logged text passes `Shown` or the console of
screen.py, which make control characters visible. The only escape sequences that reach the terminal
are our own. Apart from screen.py, because every command guards its streams and few draw.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TextIO, cast

from diskbench.visible import visible


class OwnText(str):
    """Text with our own escape sequences; its foreign parts were made visible before."""

    __slots__ = ()


class Shown:
    """A text stream that writes only visible characters, line feeds, tabs and `OwnText`.

    It has no `buffer`: libraries that find a buffer would bypass this class.
    """

    renamed: ClassVar[tuple[re.Pattern[str], str] | None] = None
    """What finds our program's name before a command, and how this process was started, if a shell
    does not find that name: a hint on a terminal can then be typed as it is shown."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        """Write `text`, made visible."""
        text = text if isinstance(text, OwnText) else visible(text)
        if self.renamed is not None and self.unguarded.isatty():
            pattern, path = self.renamed
            text = pattern.sub(lambda _: path, text)
        return self.unguarded.write(text)

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
    sys.stdout, sys.stderr = (
        stream if isinstance(stream, Shown) else cast("TextIO", Shown(stream))
        for stream in (sys.stdout, sys.stderr)
    )


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
