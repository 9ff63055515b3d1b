"""`diskbench cancel`: ask a run in another process to stop."""

from __future__ import annotations

from typing import Annotated

import typer

from diskbench.cli.stores import DatabaseUrl


def cancel(
    ids: Annotated[list[str], typer.Argument(help="Runs or trials to stop.")],
    database_url: DatabaseUrl = None,
) -> None:
    """Stop a run as Ctrl-C would: fio is stopped, what is finished is kept, the target cleaned.

    A cell of a matrix counts as cancelled; the others go on ('matrix cancel' stops them all).
    """
    import sys

    from diskbench.cli.stores import database
    from diskbench.engine.cancel import cancel as cancel_trials

    for line in cancel_trials(database(database_url), ids):
        print(line, file=sys.stderr)
