"""`diskbench compare`: runs beside what others published of the same disk."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from diskbench.cli.stores import DatabaseUrl
from diskbench.errors import InvalidValue


def compare(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN…] [ID]",
            help="Runs (ids, beginnings of them, or `last`), and published figures by id.",
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Beside what others published of the same disk.")
    ] = False,
    alone: Annotated[
        bool, typer.Option("--alone", help="Without the other runs of their trials.")
    ] = False,
    include_emulated: Annotated[
        bool,
        typer.Option(
            "--include-emulated", help="Emulated, imported and unverified runs, too; marked."
        ),
    ] = False,
    output: Annotated[
        Literal["table", "json"], typer.Option("--output", help="What to print on stdout.")
    ] = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """Set runs beside published figures of the same disk and workload."""
    if not published:
        raise InvalidValue(
            "nothing to compare with", advice="add --published: what others have published"
        )
    from diskbench.cli.compare_published import compare_published
    from diskbench.cli.stores import database

    compare_published(
        database(database_url),
        tuple(names or ()),
        alone=alone,
        include_emulated=include_emulated,
        output=output,
    )
