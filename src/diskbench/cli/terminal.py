"""What every command that prints needs: the width, and JSON that harms no terminal."""

from __future__ import annotations

import os
import shutil
import sys

from diskbench.visible import json_escaped

PIPED_WIDTH = 80


def terminal_width() -> int:
    """The columns of the terminal on standard output; 80 where it is not a terminal, so that
    piped output never depends on a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH


def table_width() -> int | None:
    """The columns that the lines of a table may have: those of the terminal, or of COLUMNS where
    that is set; None elsewhere, since a program that reads a table needs all of it."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return None


def print_json(text: str) -> None:
    """Print a JSON document on standard output. Control characters in its strings are escaped, so
    that a terminal shows them and a program reads what was there."""
    print(json_escaped(text))
