"""The terminal: its width, JSON that does not harm it, and letters that its encoding lacks.

What a terminal of ISO-8859-1, a pipe under `PYTHONIOENCODING=ascii` or a log of the C locale cannot
print is printed as the nearest letter in ASCII; it would end the command with UnicodeEncodeError.
"""

import codecs
import io
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import typer

from diskbench.visible import json_escaped


def option(*words: str, **more: Any) -> Any:  # noqa: ANN401 - typer's
    """An option as a line of the help has it: its flags unless they follow from its name, what
    stands for its value, and its help."""
    flags = [word for word in words[:-1] if word.startswith("-")]
    metavar = next((word for word in words[:-1] if word not in flags), None)
    return typer.Option(*flags, metavar=metavar, help=words[-1], **more)


def argument(metavar: str, help_: str, **more: Any) -> Any:  # noqa: ANN401 - typer's
    """An argument: what stands for it, and its help."""
    return typer.Argument(metavar=metavar, help=help_, **more)


Output = Literal["table", "json", "csv"]
TableOrJson = Annotated[Literal["table", "json"], option("--output", "What to print on stdout.")]
PIPED_WIDTH = 80


def terminal_width() -> int:
    """The columns of the terminal on standard output; 80 where it is not a terminal, so that
    piped output never depends on a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH


def table_width() -> int | None:
    """The columns that the lines of a table may have: those of the terminal, or of COLUMNS where
    that is set; None elsewhere, since a program that reads a table needs all of it."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return shutil.get_terminal_size().columns
    return None


def print_json(text: str) -> None:
    """Print a JSON document on standard output. Control characters in its strings are escaped, so
    that a terminal shows them and a program reads what was there."""
    print(json_escaped(text))


NAME = "diskbench.nearest"
_NEAREST = {
    "–": "-", "—": "-", "−": "-", "…": "~", "×": "x", "µ": "u", "μ": "u", "→": ">", "←": "<",
    "≥": ">=", "≤": "<=", "≈": "~", "±": "+-", "·": ".", "•": "*", "“": '"', "”": '"', "’": "'",
    "▁": "_", "▂": ".", "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "%", "█": "#",
    "†": "i", "│": "|", "┃": "|", "─": "-", "━": "-", "✓": "ok", "✗": "x",
}  # fmt: skip


def nearest(text: str) -> str:
    """`text` in ASCII: letters without their accents, lines and blocks as near as they come."""
    letters = []
    for char in text:
        box = "+" if "BOX DRAWINGS" in unicodedata.name(char, "") else ""
        plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
        letters.append(char if char.isascii() else _NEAREST.get(char) or box or plain or "?")
    return "".join(letters)


@contextmanager
def printable(*streams: Any) -> Iterator[None]:  # noqa: ANN401 - whatever stands for stdout
    """Let streams that cannot encode a letter print the nearest one inside the block; UTF-8 is
    unchanged."""
    codecs.register_error(NAME, _replaced)
    texts = [stream for stream in streams if isinstance(stream, io.TextIOWrapper)]
    changed = [(text, text.errors) for text in texts if not is_unicode(text.encoding)]
    for stream, _ in changed:
        stream.reconfigure(errors=NAME)
    try:
        yield
    finally:
        for stream, errors in changed:
            if not stream.closed:
                stream.reconfigure(errors=errors)


def is_unicode(encoding: str | None) -> bool:
    """Whether an encoding has all letters."""
    return (encoding or "").lower().replace("_", "-").startswith(("utf-", "utf8"))


def _replaced(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return nearest(error.object[error.start : error.end]), error.end
