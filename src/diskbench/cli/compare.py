"""`diskbench compare`: runs beside other runs, or beside what others published of the same disk."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from diskbench.cli.stores import DatabaseUrl
from diskbench.errors import InvalidValue
from diskbench.model.comparison import Metric
from diskbench.model.selection_keys import SELECTION_HELP


def compare(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A B",
            help=f"What to compare: {SELECTION_HELP}. With --published any number of them, and "
            "published figures by id.",
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published", help="Compare with figures that others published of the same disk."
        ),
    ] = False,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone", help="Take these runs only, without the other runs of their trials."
        ),
    ] = False,
    include_emulated: Annotated[
        bool,
        typer.Option(
            "--include-emulated", help="Include emulated, imported and unverified runs, marked."
        ),
    ] = False,
    metric: Annotated[
        Metric,
        typer.Option(help="The figure to compare."),
    ] = "iops",
    pool: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACT",
            help="Take trials of one side for replicates though this differs (zone, kernel, …, or "
            "`all`).",
        ),
    ] = None,
    output: Annotated[
        Literal["table", "json"], typer.Option("--output", help="What to print on stdout.")
    ] = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """Compare B with A, or runs with published figures of the same disk and workload.

    Only replicates count: trials on different machines. Differences below the noise are marked.
    """
    from diskbench.cli.compare_published import compare_published
    from diskbench.cli.compare_selections import compare_two
    from diskbench.cli.stores import database

    if not published:
        if names is None or len(names) != 2:
            raise InvalidValue(
                f"two things are compared, not {len(names or ())}",
                advice="name A and B, such as disk=gp2 disk=gp3; or add --published",
            )
        compare_two(
            database(database_url), *names, metric=metric, pool=tuple(pool or ()), output=output
        )
        return

    compare_published(
        database(database_url),
        tuple(names or ()),
        alone=alone,
        include_emulated=include_emulated,
        output=output,
    )
