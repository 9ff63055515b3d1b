"""`diskbench cancel`: ask a run in another process to stop."""

from __future__ import annotations

from typing import Annotated

import typer

from diskbench.cli.stores import DatabaseUrl


def cancel(
    ids: Annotated[list[str], typer.Argument(help="Runs or trials to stop.")],
    database_url: DatabaseUrl = None,
) -> None:
    """Stop a run as Ctrl-C would: fio is stopped, what is finished is kept, the target cleaned."""
    import sys

    from diskbench.engine.executor import abandoned
    from diskbench.engine.takeover import unfinished_plans
    from diskbench.errors import InvalidValue
    from diskbench.settings import load_settings
    from diskbench.store.claims import list_claims, list_executors, request_cancel
    from diskbench.store.database import open_database

    settings = load_settings({"database_url": database_url}).settings
    database = open_database(settings.database_url.get_secret_value())
    left = {claim.trial_id for claim in abandoned(list_claims(database), list_executors(database))}
    plans = unfinished_plans(database, ids)
    for plan in plans:
        if plan.trial_id in left:
            raise InvalidValue(
                f"the process that ran {plan.trial_id} is gone: nobody would obey",
                advice="go on with 'diskbench resume', or end it with "
                f"'diskbench gc {plan.trial_id}'",
            )
    for plan in plans:
        request_cancel(database, plan.trial_id)
        print(f"{plan.trial_id} was asked to stop", file=sys.stderr)
