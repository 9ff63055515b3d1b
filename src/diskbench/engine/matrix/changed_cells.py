"""Which cells of a matrix changed their state since the last look.

A look reads the cells under way and those that were, and counts the others. Only where the counts
differ from what is known, since cells ended that no look saw under way, it reads all states.
"""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING

from diskbench.model.campaign import LIVE
from diskbench.store.cells import cells_at, cells_in
from diskbench.store.matrix_sums import count_states, states_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import sqlalchemy as sa

    from diskbench.model.campaign import CellRow, CellState


def changed_cells(
    database: sa.Engine, campaign_id: str, known: dict[int, CellState]
) -> Iterator[CellRow]:
    """The cells whose state is not the `known` one of their position, in order; their states are
    known afterwards. What is not known waits."""
    live = {cell.position: cell for cell in cells_in(database, campaign_id, LIVE)}
    were = [at for at, state in known.items() if state in LIVE and at not in live]
    near = {cell.position: cell for cell in cells_at(database, campaign_id, were)} | live
    states = known | {at: cell.state for at, cell in near.items()}
    if _begun(Counter(states.values())) != _begun(count_states(database, campaign_id)):
        states = states_of(database, campaign_id)
    changed = [at for at in sorted(states) if states[at] != known.get(at, "waiting")]
    unread = [at for at in changed if at not in near]
    read = [near[at] for at in changed if at in near]
    others = cells_at(database, campaign_id, unread)
    for cell in heapq.merge(read, others, key=lambda cell: cell.position):
        if cell.state != known.get(cell.position, "waiting"):
            known[cell.position] = cell.state
            yield cell


def _begun(counts: dict[CellState, int]) -> dict[CellState, int]:
    return {state: count for state, count in counts.items() if state != "waiting" and count}
