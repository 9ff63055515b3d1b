"""Scripts that run in guests, as package data: Python, and POSIX sh for what goes before it."""

from importlib import resources

PYTHON = 'exec "$(command -v python3 || echo /usr/libexec/platform-python)" -I -S -c'
"""The shell's words that run a text with the Python that a guest has: cloud-init needs one, too."""


def script(name: str) -> str:
    """The text of a script in this folder."""
    return (resources.files(__package__) / name).read_text()
