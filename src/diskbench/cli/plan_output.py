"""What `diskbench plan` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from diskbench.cli.failures import print_error
from diskbench.cli.terminal import print_json
from diskbench.model.outcome import problem_of
from diskbench.plan.cost import PlanDocument, PlannedTrial, RefusedTrial, cost_of_plan
from diskbench.report.terminal.plan_text import render_plan

if TYPE_CHECKING:
    from diskbench.engine.trial.planning import Previewed


def print_text(previewed: Previewed) -> None:
    """The plans for a person, then what cannot be measured, on stderr."""
    if previewed.plans:
        typer.echo(render_plan([draft for draft, _ in previewed.plans]))
    for cell, error in previewed.refused:
        print_error(error, prefix=f"{cell.address}: " if cell.address else "")


def print_document(previewed: Previewed) -> None:
    """The plans, and what cannot be measured, as one JSON document."""
    document = PlanDocument(
        trials=tuple(
            PlannedTrial(
                plan=draft,
                asked=was_asked,
                cost=cost_of_plan(draft),
                longest_cost=cost_of_plan(draft, longest=True),
            )
            for draft, was_asked in previewed.plans
        ),
        refused=tuple(
            RefusedTrial(address=cell.address, replicate=cell.replicate, problem=problem_of(error))
            for cell, error in previewed.refused
        ),
    )
    print_json(document.model_dump_json(indent=2))
