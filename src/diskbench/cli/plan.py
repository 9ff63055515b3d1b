"""`diskbench plan`: what `diskbench run` would do, find and cost, with the same flags."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Annotated, Any

import typer

from diskbench.cli.run_command import with_run_options
from diskbench.cli.run_until import check_until

PROBLEM = 2
"""Exit code where something cannot be measured as asked."""


def plan(**typed: Any) -> None:  # noqa: ANN401 - the options of `run`, each with its type there
    """Show what a run should find, how long it takes, what it costs and what limits it.

    Takes the options of `diskbench run`. Rents nothing.
    """
    from diskbench.cli.asked import asked_for
    from diskbench.cli.plan_output import print_document, print_text
    from diskbench.engine.trial.planning import preview
    from diskbench.results.refreshed_catalogue import open_books

    until = check_until(typed)
    if until is not None:
        from diskbench.cli.until_matrix import outlook_until

        typer.echo(outlook_until(typed, until), nl=False)
        return
    command = asked_for(typed)
    books = open_books()
    outlook = preview(
        command.request, books, install_fio=typed["install_fio"], offline=typed["offline"]
    )
    (print_document if typed["output"] == "json" else print_text)(outlook)
    if outlook.refused:
        raise typer.Exit(PROBLEM)


_OFFLINE = inspect.Parameter(
    "offline",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--offline",
            help="Ask no cloud: plan from the catalogue only.",
            rich_help_panel="How it is measured",
        ),
    ],
)

command_for = partial(with_run_options, plan, more=(_OFFLINE,))
