"""A matrix or run that is killed, interrupted, broken or cut off its database at any moment, and
what people wish then: rows of tables, each on the fake cloud (tests/rigs/dying.py names moments).

Afterwards the books must hold: every row once, no lease open, nothing rented."""

import signal
from collections import Counter
from typing import Any

import pytest
from tests.rigs.chaos import PROFILE, Chaos
from tests.rigs.cli import merged_rows
from tests.rigs.waiting import read_until

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
MEASURE = "before diskbench.engine.trial.steps:LiveTrialSteps.measure 1"
BEFORE_STATIONS = tuple(f"before {station}" for station in IN_ORDER)
BEFORE_CHECKPOINTS = tuple(f"after {station}" for station in dict.fromkeys(IN_ORDER))
CHAINS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "before stations, fake cloud": (BEFORE_STATIONS, {"kind": "fake"}),
    "before stations, lab": (BEFORE_STATIONS, {"kind": "lab"}),
    "before checkpoints, fake cloud": (BEFORE_CHECKPOINTS, {"kind": "fake"}),
    "before checkpoints, lab": (BEFORE_CHECKPOINTS, {"kind": "lab"}),
    "from the file to the workflow": (
        (
            "before diskbench.engine.matrix.campaign:claim_foreground 1",
            "after diskbench.engine.matrix.campaign:claim_foreground 1",
            "after diskbench.engine.matrix.worker:admit_cells 1",
            "after diskbench.engine.durable.cells:start 1",
            "before diskbench.store.campaigns:claim_cell 1",
            "before diskbench.store.rows:save_plans 1",
            "after diskbench.store.rows:save_plans 1",
        ),
        {},
    ),
    "from the machine to the rows": (
        (
            "after diskbench.providers.fake.cloud:FakeProvider.acquire 1",
            "before diskbench.engine.work:prolong 1",
            "after diskbench.store.rows:replace_draft 1",
            "before diskbench.engine.durable.cells:move_here 1",
            "after diskbench.engine.durable.cells:move_here 1",
            "after diskbench.hosts.jobs:start_and_watch 1",
            "after diskbench.store.archive:write_step_evidence 1",
        ),
        {},
    ),
    "from the rows to the end": (
        (
            "after diskbench.store.archive:write_manifest 1",
            "after diskbench.store.rows:end_run 1",
            "before diskbench.store.leases:release_lease 1",
            "after diskbench.store.leases:release_lease 1",
        ),
        {},
    ),
    "a cell is settled, another has its turn": (
        ("after diskbench.engine.matrix.cells:LiveCells.settle 1",),
        {},
    ),
    "cells share a machine": (
        (
            "after diskbench.store.machines:save_machine 1",
            "after diskbench.providers.fake.cloud:FakeProvider.acquire 1",
            "after diskbench.store.machines:keep_machine 1",
            "after diskbench.engine.matrix.cells:LiveCells.settle 1",
            "after diskbench.store.machines:give_machine 1",
            "after diskbench.providers.fake.cloud:FakeProvider.swap 1",
            "before diskbench.engine.matrix.cells:LiveCells.settle 1",
            "after diskbench.store.machines:end_machine 1",
            "after diskbench.providers.fake.cloud:FakeProvider.release 1",
        ),
        {"reuse_host": True},
    ),
}


def both_done(chaos: Chaos) -> None:
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


def states(chaos: Chaos) -> Counter[str]:
    return Counter(cell["state"] for cell in chaos.cells())


@pytest.mark.parametrize("chain", CHAINS)
def test_kills_one_after_another_leak_and_double_nothing(chaos: Chaos, chain: str) -> None:
    """SIGKILL at one station, checkpoint or write after another, each resume at the next."""
    (first, *rest), how = CHAINS[chain]
    chaos.killed_at(first, "run", chaos.matrix(**how))
    for moment in rest:
        chaos.killed_at(moment, "resume")
    chaos.resumed()
    both_done(chaos)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("fail before diskbench.store.rows:save_plans 1", ""),
        ("fail after diskbench.store.rows:save_plans 1", ""),
        ("fail before diskbench.store.rows:replace_draft 1", ""),
        ("fail before diskbench.store.step_rows:save_step 2", ""),
        ("fail before diskbench.store.rows:end_run 1", ""),
        ("fail before diskbench.store.leases:release_lease 1", ""),
        ("fail before diskbench.engine.durable.cells:start 1", ""),
        ("break before diskbench.providers.fake.cloud:FakeProvider.release 1", ""),
        ("vanish before diskbench.engine.durable.cells:next_step 2", "resumes a cell"),
    ],
)
def test_a_fault_that_passes_costs_a_matrix_nothing(chaos: Chaos, fault: str, said: str) -> None:
    """The database fails at one of 7 writes, a release breaks, or a cell's thread ends."""
    parallel = 2 if fault.startswith("fail") else 1
    done = chaos.at(fault).done("matrix", "run", chaos.matrix(max_parallel=parallel))
    assert said in done.stderr
    both_done(chaos)


def test_a_database_that_fails_during_a_takeover_loses_nothing(chaos: Chaos) -> None:
    """It stops answering between the takeover of a dead process's cell and its continuation."""
    chaos.killed_at(MEASURE, "run", chaos.matrix())
    moment = "fail before diskbench.engine.durable.cells:move_here 1"
    chaos.at(moment).done("matrix", "resume")
    both_done(chaos)


@pytest.mark.parametrize(
    ("moment", "kind"),
    [
        ("before diskbench.engine.durable.cells:next_step 1", "Broken"),
        ("before diskbench.store.archive:write_manifest 1", "NotKept"),
    ],
)
def test_a_fault_of_our_own_fails_its_cell_alone(chaos: Chaos, moment: str, kind: str) -> None:
    """An unexpected error in the middle of a cell, or no manifest: retry measures it again."""
    done = chaos.at(f"break {moment}").run("matrix", "run", chaos.matrix())
    assert done.returncode == 1, done.stderr
    (failed,) = [cell for cell in chaos.cells() if cell["state"] != "done"]
    assert (failed["state"], failed["error_kind"]) == ("failed", kind)
    assert chaos.books().wrong == ()
    chaos.user.done("matrix", "retry", "--failed")
    both_done(chaos)


@pytest.mark.parametrize(
    "moment",
    [
        "before diskbench.store.rows:save_plans 1",
        "after diskbench.store.rows:save_plans 1",
        "before diskbench.store.archive:write_plan 1",
        "before diskbench.providers.fake.cloud:FakeProvider.acquire 1",
        "after diskbench.providers.fake.cloud:FakeProvider.acquire 1",
        "after diskbench.store.rows:replace_draft 1",
        "before diskbench.hosts.jobs:start_and_watch 1",
        "after diskbench.hosts.jobs:start_and_watch 1",
        "before diskbench.store.archive:write_step_evidence 1",
        "after diskbench.store.archive:write_step_evidence 2",
        "before diskbench.store.step_rows:save_step 1",
        "before diskbench.store.archive:write_manifest 1",
        "after diskbench.store.archive:write_manifest 1",
        "before diskbench.store.rows:end_run 1",
        "before diskbench.providers.fake.cloud:FakeProvider.release 1",
        "before diskbench.store.leases:release_lease 1",
    ],
)
def test_ctrl_c_at_an_odd_moment_ends_in_order(chaos: Chaos, moment: str) -> None:
    """Ctrl-C at one of 16 moments of a run: exit 130, or 0 where all was done; nothing rented."""
    profile = chaos.user.home / "two.fio"
    profile.write_text(PROFILE.format(how="ioengine=null", seconds=1))
    words = ("run", "--provider", "fake", "--disk", "plain", "--size", "1")
    done = chaos.at(f"interrupt {moment}").run(*words, "--profile", str(profile))
    assert done.returncode in {0, 130}, done.stderr
    assert "Traceback" not in done.stderr
    assert not list(chaos.place.glob("fake/resources/*"))
    for run in chaos.user.json("results", "list")["runs"]:
        assert run["state"] == ("done" if done.returncode == 0 else "interrupted")
        (shown,) = chaos.user.json("results", "show", run["run_id"])["runs"]
        steps = [row["step"] for row in merged_rows(shown)]
        assert steps == ["write", "read"][: len(steps)]
    ended = chaos.user.called("gc")
    assert "nothing to give back" in ended.stderr


def test_of_two_processes_that_resume_at_once_one_is_refused(chaos: Chaos) -> None:
    """Two processes resume the same matrix at the same moment: the refused one names the owner."""
    chaos.killed_at(MEASURE, "run", chaos.matrix(seconds=3))
    both = [chaos.user.start("matrix", "resume") for _ in range(2)]
    said = [process.communicate(timeout=240)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    (refused,) = [text for text, process in zip(said, both, strict=True) if process.returncode]
    assert "is being run by another process" in refused
    both_done(chaos)


def test_ctrl_c_twice_exits_at_once_and_resume_continues(chaos: Chaos) -> None:
    """Ctrl-C twice while cells are measured, then cancel and resume: nothing is rented."""
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=20, max_parallel=2))
    read_until(process, "measuring")
    process.send_signal(signal.SIGINT)
    read_until(process, "press Ctrl-C again")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "matrix resume" in said
    chaos.user.done("matrix", "cancel")
    ended = chaos.user.run("matrix", "resume")
    assert ended.returncode in (1, 2), ended.stderr
    assert states(chaos) == {"cancelled": 2}
    assert chaos.books().wrong == ()


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_ctrl_c_once_gives_back_and_resume_measures_the_rest(chaos: Chaos, shared: bool) -> None:
    """Ctrl-C once while a cell is measured, on its own machine or one that cells share."""
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=4, reuse_host=shared))
    read_until(process, "measuring")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=240)
    assert process.returncode == 130
    assert chaos.books().leaked == ()
    chaos.resumed()
    both_done(chaos)


@pytest.mark.parametrize(
    "moment",
    [
        "after diskbench.engine.matrix.worker:admit_cells 1",
        "after diskbench.engine.matrix.cells:LiveCells.open 1",
        MEASURE,
    ],
)
def test_a_matrix_that_is_cancelled_without_a_process_gives_everything_back(
    chaos: Chaos, moment: str
) -> None:
    """A matrix whose process was killed is cancelled at 3 moments."""
    chaos.killed_at(moment, "run", chaos.matrix(seconds=20))
    chaos.user.done("matrix", "cancel")
    chaos.user.run("matrix", "resume")
    assert states(chaos) == {"cancelled": 2}
    assert chaos.books().wrong == ()
