"""A matrix or run that is killed, interrupted, broken or cut off its database at any moment, and
what people wish then: rows of tables, each on the fake cloud (tests/rigs/dying.py names moments).

Afterwards the books must hold: every row once, no lease open, nothing rented."""

import signal
from collections import Counter

import pytest
from tests.rigs.chaos import PROFILE, Chaos
from tests.rigs.cli import merged_rows
from tests.rigs.waiting import ended, read_until

CELLS = "engine.matrix.cells:LiveCells."
CLOUD = "providers.fake.cloud:FakeProvider."
ACQUIRE = f"{CLOUD}acquire 1"
STATIONS = "engine.trial.steps:LiveTrialSteps."
IN_ORDER = (
    *(f"{CELLS}open 1", f"{CELLS}rent 1", f"{STATIONS}prepare 1", f"{STATIONS}measure 1"),
    *(f"{STATIONS}measure 1", f"{STATIONS}finish_run 1", f"{CELLS}settle 1"),
)
"""The stations of a cell: each process comes to the one at which the last one ended."""
MEASURE = f"before {STATIONS}measure 1"
BEFORE_STATIONS = tuple(f"before {station}" for station in IN_ORDER)
BEFORE_CHECKPOINTS = tuple(f"after {station}" for station in dict.fromkeys(IN_ORDER))
CHAINS = {
    "before stations, fake cloud": BEFORE_STATIONS,
    "before stations, lab": BEFORE_STATIONS,
    "before checkpoints, fake cloud": BEFORE_CHECKPOINTS,
    "before checkpoints, lab": BEFORE_CHECKPOINTS,
    "from the file to the workflow": (
        "before engine.matrix.campaign:claim_foreground 1",
        "after engine.matrix.campaign:claim_foreground 1",
        *("after engine.matrix.worker:admit_cells 1", "after engine.durable.process:start 1"),
        *("before store.campaigns:claim_cell 1", "before store.rows:save_plans 1"),
        "after store.rows:save_plans 1",
    ),
    "from the machine to the rows": (
        *(f"after {ACQUIRE}", "before engine.trial.lease:prolong 1"),
        "after store.rows:replace_draft 1",
        *("before engine.durable.process:move_here 1", "after engine.durable.process:move_here 1"),
        *("after hosts.jobs:start_and_watch 1", "after store.archive:write_step_evidence 1"),
    ),
    "from the rows to the end": (
        *("after store.archive:write_manifest 1", "after store.rows:end_run 1"),
        *("before store.leases:release_lease 1", "after store.leases:release_lease 1"),
    ),
    "a cell is settled, another has its turn": (f"after {CELLS}settle 1",),
    "cells share a machine": (
        *("after store.machines:save_machine 1", f"after {ACQUIRE}"),
        *("after store.machines:keep_machine 1", f"after {CELLS}settle 1"),
        *("after store.machines:give_machine 1", f"after {CLOUD}swap 1", f"before {CELLS}settle 1"),
        *("after store.machines:end_machine 1", f"after {CLOUD}release 1"),
    ),
}
MOMENTS = [
    *("before store.rows:save_plans 1", "after store.rows:save_plans 1"),
    *("before store.archive:write_plan 1", f"before {ACQUIRE}", f"after {ACQUIRE}"),
    *("after store.rows:replace_draft 1", "before hosts.jobs:start_and_watch 1"),
    *("after hosts.jobs:start_and_watch 1", "before store.archive:write_step_evidence 1"),
    *("after store.archive:write_step_evidence 2", "before store.step_rows:save_step 1"),
    *("before store.archive:write_manifest 1", "after store.archive:write_manifest 1"),
    *("before store.rows:end_run 1", f"before {CLOUD}release 1"),
    "before store.leases:release_lease 1",
]


def states(chaos: Chaos) -> Counter[str]:
    return Counter(cell["state"] for cell in chaos.cells())


@pytest.mark.parametrize("chain", CHAINS)
def test_kills_one_after_another_leak_and_double_nothing(chaos, chain):
    """SIGKILL at one station, checkpoint or write after another, each resume at the next."""
    first, *rest = CHAINS[chain]
    kind = "lab" if chain.endswith("lab") else "fake"
    matrix = chaos.matrix(kind, reuse_host=chain == "cells share a machine")
    chaos.killed_at(first, "run", matrix)
    for moment in rest:
        chaos.killed_at(moment, "resume")
    chaos.user.done("matrix", "resume")
    chaos.all_done()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("fail before store.rows:save_plans 1", ""),
        ("fail after store.rows:save_plans 1", ""),
        ("fail before store.rows:replace_draft 1", ""),
        ("fail before store.step_rows:save_step 2", ""),
        ("fail before store.rows:end_run 1", ""),
        ("fail before store.leases:release_lease 1", ""),
        ("fail before engine.durable.process:start 1", ""),
        ("break before providers.fake.cloud:FakeProvider.release 1", ""),
        ("vanish before engine.durable.cells:next_step 2", "resumes a cell"),
    ],
)
def test_a_fault_that_passes_costs_a_matrix_nothing(chaos, fault, said):
    """The database fails at one of 7 writes, a release breaks, or a cell's thread ends."""
    parallel = 2 if fault.startswith("fail") else 1
    done = chaos.at(fault).done("matrix", "run", chaos.matrix(max_parallel=parallel))
    assert said in done.stderr
    chaos.all_done()


def test_a_database_that_fails_during_a_takeover_loses_nothing(chaos):
    """It stops answering between the takeover of a dead process's cell and its continuation."""
    chaos.killed_at(MEASURE, "run", chaos.matrix())
    chaos.at("fail before engine.durable.process:move_here 1").done("matrix", "resume")
    chaos.all_done()


@pytest.mark.parametrize(
    ("moment", "kind"),
    [
        ("before engine.durable.cells:next_step 1", "Broken"),
        ("before store.archive:write_manifest 1", "NotKept"),
    ],
)
def test_a_fault_of_our_own_fails_its_cell_alone(chaos, moment, kind):
    """An unexpected error in the middle of a cell, or no manifest: retry measures it again."""
    done = chaos.at(f"break {moment}").run("matrix", "run", chaos.matrix())
    assert done.returncode == 1, done.stderr
    (failed,) = [cell for cell in chaos.cells() if cell["state"] != "done"]
    assert (failed["state"], failed["error_kind"]) == ("failed", kind)
    assert chaos.books().wrong == ()
    chaos.user.done("matrix", "retry", "--failed")
    chaos.all_done()


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_at_an_odd_moment_ends_in_order(chaos, moment):
    """Ctrl-C at one of 16 moments of a run: exit 130, or 0 where all was done; nothing rented."""
    job = chaos.user.job(PROFILE.replace("{how}", "ioengine=null"))
    words = ("run", "--provider", "fake", "--disk", "plain", "--size", "1")
    done = chaos.at(f"interrupt {moment}").run(*words, "--profile", job)
    assert done.returncode in {0, 130}, done.stderr
    assert "Traceback" not in done.stderr
    assert not list(chaos.place.glob("fake/resources/*"))
    for run in chaos.user.json("results", "list")["runs"]:
        assert run["state"] == ("done" if done.returncode == 0 else "interrupted")
        (shown,) = chaos.user.json("results", "show", run["run_id"])["runs"]
        steps = [row["step"] for row in merged_rows(shown)]
        assert steps == ["write", "read"][: len(steps)]
    assert "nothing to give back" in chaos.user.called("gc").stderr


def test_of_two_processes_that_resume_at_once_one_is_refused(chaos):
    """Two processes resume the same matrix at the same moment: the refused one names the owner."""
    chaos.killed_at(MEASURE, "run", chaos.matrix(seconds=3))
    both = [chaos.user.start("matrix", "resume") for _ in range(2)]
    said = [process.communicate(timeout=240)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    (refused,) = [text for text, process in zip(said, both, strict=True) if process.returncode]
    assert "is being run by another process" in refused
    chaos.all_done()


def test_ctrl_c_twice_exits_at_once_and_resume_continues(chaos):
    """Ctrl-C twice while cells are measured, then cancel and resume: nothing is rented."""
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=20, max_parallel=2))
    read_until(process, "measuring")
    process.send_signal(signal.SIGINT)
    read_until(process, "press Ctrl-C again")
    process.send_signal(signal.SIGINT)
    assert "matrix resume" in ended(process, 130)
    chaos.user.done("matrix", "cancel")
    done = chaos.user.run("matrix", "resume")
    assert done.returncode in (1, 2), done.stderr
    assert states(chaos) == {"cancelled": 2}
    assert chaos.books().wrong == ()


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_ctrl_c_once_gives_back_and_resume_measures_the_rest(chaos, shared):
    """Ctrl-C once while a cell is measured, on its own machine or one that cells share."""
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=4, reuse_host=shared))
    read_until(process, "measuring")
    process.send_signal(signal.SIGINT)
    ended(process, 130)
    assert chaos.books().leaked == ()
    chaos.user.done("matrix", "resume")
    chaos.all_done()


@pytest.mark.parametrize(
    "moment",
    [
        "after engine.matrix.worker:admit_cells 1",
        "after engine.matrix.cells:LiveCells.open 1",
        MEASURE,
    ],
)
def test_a_matrix_that_is_cancelled_without_a_process_gives_everything_back(chaos, moment):
    """A matrix whose process was killed is cancelled at 3 moments."""
    chaos.killed_at(moment, "run", chaos.matrix(seconds=20))
    chaos.user.done("matrix", "cancel")
    chaos.user.run("matrix", "resume")
    assert states(chaos) == {"cancelled": 2}
    assert chaos.books().wrong == ()
