"""The options by which a command is told which runs it is about (docs/selection.md)."""

from __future__ import annotations

from typing import Annotated

import typer

from diskbench.model.selection_keys import FILTER_HELP

Filters = Annotated[
    list[str] | None,
    typer.Option("--filter", "-f", metavar="KEY=VALUE", help=FILTER_HELP),
]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Measured not before: 2026-11-21, 36h, 7d, 4w."),
]
Until = Annotated[
    str | None, typer.Option(metavar="TIME", help="Measured not after, in the same form.")
]
