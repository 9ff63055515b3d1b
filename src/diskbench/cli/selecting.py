"""The options that say which runs a command is about, one language for all (docs/compare.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from diskbench.model.run import FILTER_HELP, SELECTION_HELP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.results.selection import Selection

Selections = Annotated[
    list[str] | None, typer.Argument(metavar="SELECTION", help=f"Which runs: {SELECTION_HELP}.")
]
Filters = Annotated[
    list[str] | None,
    typer.Option("--filter", "-f", metavar="KEY=VALUE", help=FILTER_HELP),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only runs measured at or after this time: 2026-11-21, 36h, 7d, 4w.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help="Only runs measured at or before this time, in the same form.",
    ),
]


def asked(
    names: Sequence[str] | None,
    filters: Sequence[str] | None,
    since: str | None,
    until: str | None,
) -> Selection:
    """The selection that was typed."""
    from diskbench.results.selection import Selection

    return Selection(tuple(names or ()), tuple(filters or ()), since, until)
