"""`diskbench regressions`: since when a disk is slower or faster than it was."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from diskbench.cli.selecting import Filters, Selections, Since, Until, asked
from diskbench.cli.stores import DatabaseUrl, database
from diskbench.cli.terminal import print_json, terminal_width
from diskbench.model.comparison import Metric


def regressions(
    selection: Selections = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    metric: Annotated[
        Metric,
        typer.Option(help="The figure to follow."),
    ] = "iops",
    pool: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACT",
            help="Count machines of one time together although this fact differs; "
            "`all` ignores every fact.",
        ),
    ] = None,
    output: Annotated[
        Literal["table", "json"], typer.Option("--output", help="What to print on stdout.")
    ] = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """Find when the figures of a repeated measurement changed, and by how much.

    Each matrix of a schedule (and each other command) is one time. A change needs three times on
    the new level and 5 %.
    """
    from diskbench.results.history import find_regressions
    from diskbench.results.pool import facts_to_pool
    from diskbench.results.selection import chosen

    engine = database(database_url)
    wanted = chosen(engine, asked(selection, filter_, since, until))
    regressed = find_regressions(engine, wanted, metric=metric, pool=facts_to_pool(pool or ()))
    if output == "json":
        print_json(regressed.model_dump_json(indent=2))
        return
    if not regressed.histories:
        print("no configuration that matches was measured twice", file=sys.stderr)
    from diskbench.report.terminal.history_text import regression_lines

    for line in regression_lines(regressed, width=terminal_width()):
        print(line)
