"""Output of rich for what is no terminal: without the blanks that fill its tables' last columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_trimmed(console: Console, *shown: RenderableType) -> None:
    """Print; where the console is no terminal, no line ends with blanks."""
    if console.is_terminal:
        console.print(*shown)
        return
    with console.capture() as captured:
        console.print(*shown)
    text = captured.get()
    console.file.write("".join(f"{line.rstrip()}\n" for line in text.splitlines()))
