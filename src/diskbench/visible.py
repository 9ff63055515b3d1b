"""Make foreign text safe to show: every control character becomes a visible character.

CPU models, kernels, job names, versions, labels, file names, answers of clouds: text from a host, a
file or a person may hold ESC and OSC sequences (they move the cursor, forge links, set the
clipboard), bidirectional overrides (they reverse the displayed order) and zero-width characters.

Text is stored unchanged (in evidence, rows and JSON) and made visible on output, because there are
hundreds of inputs and few outputs. The outputs are report/terminal/streams.py
and screen.py (standard output and error, logs, tables, the live display), store/export.py,
report/page, report/site and report/charts/figure.py (files).
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but for tab and line feed, DEL, C1
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, fillers, Mongolian
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2"  # Arabic and Syriac format characters
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, bidi, line and paragraph separators
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"  # fillers, variation selectors, BOM
    "\ud800-\udfff"  # halves of a character: nothing can encode them
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # tags and more variation selectors
)
UNSEEN = re.compile(f"[{_UNSEEN}]")
"""Characters that control a terminal or are invisible on it, except tab and line feed."""

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_NUMBERS = (int, float)
_SHOWN = 60
MOST = 1_000
"""Characters of one name, label or line that are shown to a person; our choice."""
_PICTURES = 0x2400
_DEL, _DEL_PICTURE = "\x7f", "\N{SYMBOL FOR DELETE}"
_QUOTED = 60
"""Characters of a value that a message quotes."""


def visible(text: str) -> str:
    """`text` with each UNSEEN character replaced by one symbol: `␛` for ESC, `␇` for BEL, `�` where
    Unicode has no symbol. Length, line feeds and tabs are preserved."""
    return UNSEEN.sub(_picture, text)


def one_line(text: str) -> str:
    """`text` made visible, including line feeds and tabs, so that it stays on one line."""
    return visible(text).replace("\n", chr(_PICTURES + 10)).replace("\t", chr(_PICTURES + 9))


def shortened(text: str, most: int = MOST) -> str:
    """`text`, or its beginning and how many characters follow: a text of a host, a file or a person
    may have any length."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} characters more)"


def visible_all(document: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A JSON document with all its strings made visible, keys included."""
    if isinstance(document, str):
        return visible(document)
    if isinstance(document, dict):
        return {visible_all(key): visible_all(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [visible_all(item) for item in document]
    return document


def json_escaped(text: str) -> str:
    """JSON text with UNSEEN characters escaped as `\\u….`: safe to show, and a program that parses
    it gets the original text."""
    return UNSEEN.sub(_escape, text)


def unstorable(document: Any) -> str | None:  # noqa: ANN401 - whatever JSON holds
    """The first text in a JSON document, keys included, that a database cannot store: one with a
    NUL or a lone surrogate (as in a file name that is not UTF-8). None where all can be stored."""
    if isinstance(document, str):
        return document if _UNSTORABLE.search(document) else None
    if document is None or isinstance(document, int | float):
        return None
    if isinstance(document, list | tuple | set | frozenset):
        parts: Iterable[Any] = document
    elif isinstance(document, Mapping):
        parts = (*document, *document.values())
    else:
        return None
    for part in parts:
        # Most parts are numbers and texts, of tens of thousands of rows at once.
        if isinstance(part, str):
            if _UNSTORABLE.search(part):
                return part
        elif part is not None and not isinstance(part, _NUMBERS):
            bad = unstorable(part)
            if bad is not None:
                return bad
    return None


def unstorable_words(text: str) -> str:
    """Why a text is refused, with its first 60 characters: `'ab␀' holds a NUL character`."""
    shown = repr(visible(text[:_SHOWN])) + ("…" if len(text) > _SHOWN else "")
    if "\0" in text:
        return f"{shown} holds a NUL character, which no database keeps"
    return f"{shown} is not valid UTF-8 (it holds half a character), and no database keeps it"


def _picture(match: re.Match[str]) -> str:
    char = match[0]
    if char < " ":
        return chr(_PICTURES + ord(char))
    return _DEL_PICTURE if char == _DEL else UNKNOWN


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def quoted(value: str) -> str:
    """A value as messages show it: at most its first 60 characters."""
    return repr(value if len(value) <= _QUOTED else f"{value[:_QUOTED]}…")
