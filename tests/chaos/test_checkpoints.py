"""A controller that is killed at any checkpoint, one after another, and the matrix that goes on."""

from __future__ import annotations

import pytest
from tests.chaos.conftest import Chaos

pytestmark = pytest.mark.slow

CELLS = "diskbench.engine.cell:LiveCells."
STATIONS = "diskbench.engine.stations:LiveStations."
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


@pytest.mark.parametrize("provider", ["fake", "lab"])
def test_killed_before_every_station_and_resumed_it_loses_doubles_and_leaves_nothing(
    chaos: Chaos, provider: str
) -> None:
    first, *rest = (f"before {station}" for station in IN_ORDER)
    chaos.killed_at(first, "run", chaos.matrix(provider))
    for moment in rest:
        chaos.killed_at(moment, "resume")
    chaos.resumed()
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@pytest.mark.parametrize("provider", ["fake", "lab"])
def test_killed_after_every_station_and_before_its_checkpoint_it_does_so_neither(
    chaos: Chaos, provider: str
) -> None:
    first, *rest = (f"after {station}" for station in dict.fromkeys(IN_ORDER))
    chaos.killed_at(first, "run", chaos.matrix(provider))
    for moment in rest:
        chaos.killed_at(moment, "resume")
    chaos.resumed()
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())
