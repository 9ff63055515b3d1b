"""Faults of diskbench's own, and of a provider's: they end a cell with a reason, never a matrix."""

from __future__ import annotations

from tests.drills.book import drill
from tests.rigs.chaos import Chaos


@drill(
    done="diskbench itself raises an unexpected error in the middle of a cell",
    holds="that cell fails with its reason, the next one is measured, and retry measures the "
    "failed one",
)
def test_a_cell_whose_workflow_broke_fails_with_its_reason_and_the_next_is_measured(
    chaos: Chaos,
) -> None:
    moment = "break before diskbench.engine.durable.cells:next_step 1"
    done = chaos.at(moment).run("matrix", "run", chaos.matrix())
    assert done.returncode == 1, done.stderr
    (failed,) = [cell for cell in chaos.cells() if cell["state"] != "done"]
    assert (failed["state"], failed["error_kind"]) == ("failed", "Broken")
    assert chaos.books().wrong == ()
    again = chaos.user.run("matrix", "retry", "--failed")
    assert again.returncode == 0, again.stderr
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@drill(
    done="the provider breaks while it gives a machine back",
    holds="diskbench tries again until nothing is rented",
)
def test_a_provider_that_breaks_while_giving_back_is_asked_again(chaos: Chaos) -> None:
    moment = "break before diskbench.providers.fake.cloud:FakeProvider.release 1"
    done = chaos.at(moment).run("matrix", "run", chaos.matrix())
    assert done.returncode == 0, done.stderr
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@drill(
    done="the manifest that closes a run cannot be written",
    holds="the cell fails and is never marked as done",
)
def test_a_run_whose_end_cannot_be_recorded_is_not_done(chaos: Chaos) -> None:
    moment = "break before diskbench.store.archive:write_manifest 1"
    done = chaos.at(moment).run("matrix", "run", chaos.matrix())
    assert done.returncode == 1, done.stderr
    (failed,) = [cell for cell in chaos.cells() if cell["state"] != "done"]
    assert (failed["state"], failed["error_kind"]) == ("failed", "NotKept")
    assert chaos.books().wrong == ()


@drill(
    done="the thread of a cell ends without an error",
    holds="the cell is resumed and done once",
)
def test_a_cell_whose_thread_ends_silently_is_started_again(chaos: Chaos) -> None:
    moment = "vanish before diskbench.engine.durable.cells:next_step 2"
    done = chaos.at(moment).run("matrix", "run", chaos.matrix())
    assert done.returncode == 0, done.stderr
    assert "resumes a cell" in done.stderr
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())
