"""How wide a command may print."""

from __future__ import annotations

import shutil
import sys

PIPED_WIDTH = 80


def terminal_width() -> int:
    """The columns of the terminal on standard output; 80 where it is none, so that what is piped
    is the same wherever it is piped from."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
