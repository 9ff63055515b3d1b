"""What `diskbench plan --output json` prints."""

from typing import Literal

from diskbench.catalog.cost import CellCost
from diskbench.model.base import Frozen
from diskbench.model.outcome import Problem
from diskbench.model.spec import Plan


class PlannedTrial(Frozen):
    """One trial: its plan with what it should find, and what it costs if its steps take as long as
    expected, and at most, with loops to their last round. `asked` says whether the provider was, or
    the catalogue alone."""

    plan: Plan
    asked: bool
    cost: CellCost
    longest_cost: CellCost


class RefusedTrial(Frozen):
    """One that cannot be measured; `address` is None for a machine that would be rented."""

    address: str | None
    replicate: int
    problem: Problem


class PlanDocument(Frozen):
    """All trials of one command line."""

    format: Literal[1] = 1
    trials: tuple[PlannedTrial, ...]
    refused: tuple[RefusedTrial, ...] = ()
