"""Output of rich without a terminal: the blanks that pad the last column of tables are removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_trimmed(console: Console, *shown: RenderableType) -> None:
    """Print; if the console is not a terminal, trailing blanks are removed from each line."""
    if console.is_terminal:
        console.print(*shown)
        return
    with console.capture() as captured:
        console.print(*shown)
    text = captured.get()
    console.file.write("".join(f"{line.rstrip()}\n" for line in text.splitlines()))
