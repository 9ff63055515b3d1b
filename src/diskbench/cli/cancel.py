"""`diskbench cancel`: ask a run in another process to stop."""

from __future__ import annotations

from typing import Annotated

import typer


def cancel(
    ids: Annotated[list[str], typer.Argument(help="Runs or trials to stop.")],
    database_url: Annotated[
        str | None, typer.Option(help="Database URL (default: see `diskbench config`).")
    ] = None,
) -> None:
    """Stop a run as Ctrl-C would: fio is stopped, what is finished is kept, the target cleaned."""
    import sys

    from diskbench.engine.takeover import unfinished_plans
    from diskbench.settings import load_settings
    from diskbench.store.claims import request_cancel
    from diskbench.store.database import open_database

    settings = load_settings({"database_url": database_url}).settings
    database = open_database(settings.database_url.get_secret_value())
    for plan in unfinished_plans(database, ids):
        request_cancel(database, plan.trial_id)
        print(f"{plan.trial_id} was asked to stop", file=sys.stderr)
