"""Whole numbers in a host's output: bounded, because a host is not trusted."""

from diskbench.limits import COUNTER

_DIGITS = 19


def whole(text: str, most: int = COUNTER) -> int | None:
    """A number from 0 to `most`; None for anything else."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        return None
    return value if (value := int(text)) <= most else None
