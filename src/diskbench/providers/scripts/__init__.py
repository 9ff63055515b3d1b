"""Scripts that run in guests, as package data: POSIX sh, and Python for what a guest is asked."""

from importlib import resources


def script(name: str) -> str:
    """The text of a script in this folder."""
    return (resources.files(__package__) / name).read_text()
