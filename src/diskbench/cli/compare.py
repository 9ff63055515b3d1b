"""`diskbench compare`: runs beside other runs, or beside what others published of the same disk."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from diskbench.cli.compare_published import compare_published
from diskbench.cli.compare_selections import ALL_METRICS, METRICS, compare_two
from diskbench.cli.selecting import Filters, Since, Until, asked
from diskbench.cli.stores import DatabaseUrl, database
from diskbench.errors import InvalidValue
from diskbench.model.comparison import Metric
from diskbench.model.run import SELECTION_HELP

ComparedAs = Annotated[
    Literal["table", "json"], typer.Option("--output", help="What to print on stdout.")
]
MoreFigures = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Also mean and p99.9 latency, replicates and conclusions."
    ),
]


def compare(
    selection: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A B",
            help=f"Which runs: {SELECTION_HELP}. With --published any number of them, and "
            "published figures by id.",
        ),
    ] = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
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
        Metric | None,
        typer.Option(help="The only figure to compare (default: IOPS, MB/s and p99 latency)."),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACT",
            help="Count trials of one side as replicates although this fact differs (zone, kernel, "
            "…); `all` ignores every fact.",
        ),
    ] = None,
    output: ComparedAs = "table",
    verbose: MoreFigures = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Compare B with A, or runs with published figures of the same disk and workload.

    Only replicates count: trials on different machines. Differences below the noise are marked.
    """
    typed = asked(selection, filter_, since, until)
    if not published:
        if len(typed.names) != 2:
            raise InvalidValue(
                f"compare takes two selections, not {len(typed.names)}",
                advice="name A and B, such as disk=gp2 disk=gp3; or add --published",
            )
        metrics = (metric,) if metric else ALL_METRICS if verbose else METRICS
        compare_two(
            database(database_url),
            typed,
            metrics=metrics,
            pool=tuple(pool or ()),
            output=output,
            verbose=verbose,
        )
        return

    compare_published(
        database(database_url),
        typed,
        alone=alone,
        include_emulated=include_emulated,
        output=output,
    )
