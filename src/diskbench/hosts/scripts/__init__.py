"""Scripts that run on measured hosts: POSIX sh and awk, as package data."""

from functools import cache
from importlib import resources


@cache
def script(name: str) -> str:
    """The text of a script in this folder."""
    return (resources.files(__package__) / name).read_text()
