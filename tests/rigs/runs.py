"""A run as the database knows it, for tests of what is made of runs."""

from typing import Any

from tests.rigs.plans import make_plan

from diskbench.model.run import RUN_FIELDS, Run
from diskbench.store.run_row import run_row


def a_run(**changes: Any) -> Run:
    return Run(**(run_row(make_plan(), 0, "file:///e") | changes))


def bare_run(**known: Any) -> Run:
    return Run(**(dict.fromkeys(RUN_FIELDS) | {"labels": {}, "parameters": {}} | known))
