"""What becomes of a cloud's published error codes, as one table of text (tests/golden)."""

import re

from tests.rigs.golden import PLACE

from diskbench.errors import NoCapacity, Unanswered

_HEAD = re.compile(r"(?m)^(\S.*): \w+, (?:next|no other) zone, ")


def published(name):
    """The codes in a table of tests/golden; a new one is written there, then `--update-golden`."""
    return _HEAD.findall((PLACE / name).read_text("utf-8"))


def table(rows):
    """A block for each code: whether another zone is tried, whether the call is repeated, the exit
    code, and what the user sees."""
    blocks = []
    for code, error in rows:
        again = "again" if isinstance(error, Unanswered) else "once"
        zone = "next zone" if isinstance(error, NoCapacity) else "no other zone"
        head = f"{code}: {type(error).__name__}, {zone}, {again}, exit {error.exit_code}"
        blocks.append(f"{head}\n    {error.message}\n    {error.advice or 'no advice'}")
    return "\n".join(blocks)
