"""Text after a label, wrapped at the terminal's width with a hanging indent."""

from __future__ import annotations

import shutil
import textwrap

_NARROWEST = 20


def hanging(label: str, text: str, *, width: int | None = None) -> str:
    """`label` and `text`; further lines are indented by the label's length. Words are never cut, so
    that a path, a command or an id can be copied.

    `width` None: COLUMNS, else the terminal's, else 80.
    """
    wide = shutil.get_terminal_size().columns if width is None else width
    return "\n".join(
        textwrap.wrap(
            " ".join(text.split()),
            max(wide, len(label) + _NARROWEST),
            initial_indent=label,
            subsequent_indent=" " * len(label),
            break_long_words=False,
            break_on_hyphens=False,
        )
        or [label.rstrip()]
    )
