"""The document that `diskbench plan --output json` prints."""

from typing import Literal

from diskbench.catalog.cost import CellCost
from diskbench.model.base import Frozen
from diskbench.model.outcome import Problem
from diskbench.model.spec import Plan


class PlannedTrial(Frozen):
    """One trial: its plan with its expectation, its cost if the steps take as long as expected, and
    its highest cost, with loops run to their last round. `asked` says whether the provider itself
    was queried or only the catalogue."""

    plan: Plan
    asked: bool
    cost: CellCost
    longest_cost: CellCost


class RefusedTrial(Frozen):
    """A trial that cannot be measured; `address` is None for a machine that would be rented."""

    address: str | None
    replicate: int
    problem: Problem


class PlanDocument(Frozen):
    """All trials of one command line."""

    format: Literal[1] = 1
    trials: tuple[PlannedTrial, ...]
    refused: tuple[RefusedTrial, ...] = ()
