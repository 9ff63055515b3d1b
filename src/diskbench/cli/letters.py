"""What is printed where the terminal's encoding lacks a letter: the nearest one in ASCII.

A terminal of ISO-8859-1, a pipe under `PYTHONIOENCODING=ascii` and a log of the C locale would
otherwise end a command with UnicodeEncodeError.
"""

from __future__ import annotations

import codecs
import io
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAME = "diskbench.nearest"
_NEAREST = {
    "–": "-", "—": "-", "−": "-", "…": "~", "×": "x", "µ": "u", "μ": "u", "→": ">", "←": "<",
    "≥": ">=", "≤": "<=", "≈": "~", "±": "+-", "·": ".", "•": "*", "“": '"', "”": '"', "’": "'",
    "▁": "_", "▂": ".", "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "%", "█": "#",
    "†": "i", "│": "|", "┃": "|", "─": "-", "━": "-", "✓": "ok", "✗": "x",
}  # fmt: skip


def nearest(text: str) -> str:
    """`text` in ASCII: letters without their accents, lines and blocks as near as they come."""
    return "".join(_letter(char) for char in text)


@contextmanager
def printable(*streams: Any) -> Iterator[None]:  # noqa: ANN401 - whatever stands for stdout
    """Let streams that cannot encode a letter print the nearest one inside the block; UTF-8 is
    unchanged."""
    codecs.register_error(NAME, _replaced)
    changed = [
        (stream, stream.errors)
        for stream in streams
        if isinstance(stream, io.TextIOWrapper) and not is_unicode(stream.encoding)
    ]
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


def _letter(char: str) -> str:
    if char.isascii():
        return char
    if char in _NEAREST:
        return _NEAREST[char]
    if "BOX DRAWINGS" in unicodedata.name(char, ""):
        return "+"
    plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return plain or "?"
