"""A controller that is killed where no checkpoint is: between two writes that belong together."""

from __future__ import annotations

import pytest
from tests.drills.book import drill
from tests.rigs.chaos import Chaos

FROM_FILE_TO_WORKFLOW = (
    "before diskbench.engine.matrix.campaign:claim_foreground 1",
    "after diskbench.engine.matrix.campaign:claim_foreground 1",
    "after diskbench.engine.matrix.worker:feed 1",
    "after diskbench.engine.durable.cells:start 1",
    "before diskbench.store.cells:claim_cell 1",
    "before diskbench.store.rows:save_plans 1",
    "after diskbench.store.rows:save_plans 1",
)
FROM_MACHINE_TO_ROWS = (
    "after diskbench.providers.fake.cloud:FakeProvider.acquire 1",
    "before diskbench.engine.work:prolong 1",
    "after diskbench.store.rows:replace_draft 1",
    "before diskbench.engine.durable.cells:move_here 1",
    "after diskbench.engine.durable.cells:move_here 1",
    "after diskbench.hosts.jobs:start_and_watch 1",
    "after diskbench.store.archive:write_step_evidence 1",
)
FROM_ROWS_TO_THE_END = (
    "after diskbench.store.archive:write_manifest 1",
    "after diskbench.store.rows:end_run 1",
    "before diskbench.store.leases:release_lease 1",
    "after diskbench.store.leases:release_lease 1",
)


@drill(
    done="SIGKILL between two writes that belong together, 18 moments from the file to the "
    "released lease, each resume killed at the next",
    holds="the last resume ends with every row once, no lease open, nothing rented",
)
@pytest.mark.parametrize(
    "moments",
    [FROM_FILE_TO_WORKFLOW, FROM_MACHINE_TO_ROWS, FROM_ROWS_TO_THE_END],
    ids=["begin", "rent-and-measure", "end"],
)
def test_kills_between_two_writes_leak_and_double_nothing(
    chaos: Chaos, moments: tuple[str, ...]
) -> None:
    first, *rest = moments
    chaos.killed_at(first, "run", chaos.matrix())
    for moment in rest:
        chaos.killed_at(moment, "resume")
    chaos.resumed()
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@drill(
    done="SIGKILL right after a cell is settled",
    holds="the next cell gets its place, and all are done",
)
def test_a_cell_settled_by_a_killed_process_does_not_block_the_next(chaos: Chaos) -> None:
    chaos.killed_at("after diskbench.engine.matrix.cells:LiveCells.settle 1", "run", chaos.matrix())
    chaos.resumed()
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


ON_A_SHARED_MACHINE = (
    "after diskbench.store.leases:save_machine 1",
    "after diskbench.providers.fake.cloud:FakeProvider.acquire 1",
    "after diskbench.store.leases:keep_machine 1",
    "after diskbench.engine.matrix.cells:LiveCells.settle 1",
    "after diskbench.store.leases:give_machine 1",
    "after diskbench.providers.fake.cloud:FakeProvider.swap 1",
    "before diskbench.engine.matrix.cells:LiveCells.settle 1",
    "after diskbench.store.leases:end_machine 1",
    "after diskbench.providers.fake.cloud:FakeProvider.release 1",
)


@drill(
    done="SIGKILL at 9 moments while cells share one machine and disks are swapped",
    holds="every row once, one machine, nothing rented at the end",
)
def test_kills_while_cells_share_a_machine_leak_and_double_nothing(
    chaos: Chaos,
) -> None:
    first, *rest = ON_A_SHARED_MACHINE
    chaos.killed_at(first, "run", chaos.matrix(reuse_host=True))
    for moment in rest:
        chaos.killed_at(moment, "resume")
    chaos.resumed()
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())
