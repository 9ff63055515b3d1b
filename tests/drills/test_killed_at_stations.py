"""A controller that is killed at any checkpoint, one after another, and the matrix that goes on."""

from __future__ import annotations

import pytest
from tests.drills.book import drill
from tests.rigs.chaos import Chaos

CELLS = "diskbench.engine.matrix.cells:LiveCells."
STATIONS = "diskbench.engine.trial.steps:LiveTrialSteps."
IN_ORDER = (
    f"{CELLS}open 1",
    f"{CELLS}rent 1",
    f"{STATIONS}prepare 1",
    f"{STATIONS}measure 1",
    f"{STATIONS}measure 1",
    f"{STATIONS}finish_run 1",
    f"{CELLS}settle 1",
)
"""The stations of a cell: each process comes to the one at which the last one ended."""


@drill(
    done="SIGKILL before each station of a cell, one after another, in the fake "
    "cloud and in the lab",
    holds="every row once, nothing rented at the end",
)
@pytest.mark.parametrize("provider", ["fake", "lab"])
def test_kills_before_every_station_leak_and_double_nothing(chaos: Chaos, provider: str) -> None:
    first, *rest = (f"before {station}" for station in IN_ORDER)
    chaos.killed_at(first, "run", chaos.matrix(provider))
    for moment in rest:
        chaos.killed_at(moment, "resume")
    chaos.resumed()
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@drill(
    done="SIGKILL after each station of a cell and before its checkpoint is written",
    holds="the station is repeated without doubling anything; nothing rented at the end",
)
@pytest.mark.parametrize("provider", ["fake", "lab"])
def test_kills_before_every_checkpoint_leak_and_double_nothing(chaos: Chaos, provider: str) -> None:
    first, *rest = (f"after {station}" for station in dict.fromkeys(IN_ORDER))
    chaos.killed_at(first, "run", chaos.matrix(provider))
    for moment in rest:
        chaos.killed_at(moment, "resume")
    chaos.resumed()
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())
