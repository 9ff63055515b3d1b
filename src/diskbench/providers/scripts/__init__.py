"""Scripts that run in guests: POSIX sh, as package data."""

from importlib import resources


def script(name: str) -> str:
    """The text of a script in this folder."""
    return (resources.files(__package__) / name).read_text()
