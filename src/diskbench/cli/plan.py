"""`diskbench plan`: what `diskbench run` would do, find and cost, with the same flags."""

from functools import partial
from typing import Any

import typer

from diskbench.cli.messages import print_error
from diskbench.cli.run_command import Request, asked_for, with_run_options
from diskbench.cli.terminal import print_json
from diskbench.engine.trial.planning import Prepared, preview
from diskbench.model.outcome import problem_of
from diskbench.plan.cost import PlanDocument, PricedPlan, RefusedPlan, cost_of_plan
from diskbench.report.terminal.plan_text import render_plan
from diskbench.results.refreshed_catalogue import open_books

PROBLEM = 2
"""Exit code where something cannot be measured as asked."""


def plan(**typed: Any) -> None:  # noqa: ANN401 - the options of `run`, each with its type there
    """Show what a run should find, how long it takes, what it costs and what limits it.

    Takes the options of `diskbench run`. Rents nothing.
    """
    request = Request(**typed)
    if request.until_ci is not None:
        from diskbench.cli.until import outlook_until  # a matrix, which other plans do not need

        typer.echo(outlook_until(request), nl=False)
        return
    cells = asked_for(request)
    ways = {"install_fio": request.install_fio, "offline": request.offline}
    outlook = preview(cells, open_books(), **ways)
    (print_document if request.output == "json" else print_text)(outlook)
    if outlook.refused:
        raise typer.Exit(PROBLEM)


command_for = partial(with_run_options, plan)


def print_text(previewed: Prepared) -> None:
    """The plans for a person, then what cannot be measured, on stderr."""
    if previewed.plans:
        typer.echo(render_plan(previewed.plans))
    for cell, error in previewed.refused:
        print_error(error, prefix=f"{cell.address}: " if cell.address else "")


def print_document(previewed: Prepared) -> None:
    """The plans, and what cannot be measured, as one JSON document."""
    trials, refused = [], []
    for draft in previewed.plans:
        cost, longest = cost_of_plan(draft), cost_of_plan(draft, longest=True)
        was_asked = draft.trial_id not in previewed.unasked
        trials.append(PricedPlan(plan=draft, asked=was_asked, cost=cost, longest_cost=longest))
    for cell, error in previewed.refused:
        where = {"address": cell.address, "replicate": cell.replicate}
        refused.append(RefusedPlan(**where, problem=problem_of(error)))
    document = PlanDocument(trials=tuple(trials), refused=tuple(refused))
    print_json(document.model_dump_json(indent=2))
