"""What people do to a matrix: resume it twice at once, press Ctrl-C twice, cancel it unrun."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter

import pytest
from tests.drills.book import drill
from tests.rigs.chaos import Chaos

MEASURE = "before diskbench.engine.trial.steps:LiveTrialSteps.measure 1"


def states(chaos: Chaos) -> Counter[str]:
    return Counter(cell["state"] for cell in chaos.cells())


@drill(
    done="two processes resume the same matrix at the same moment",
    holds="one resumes it, the other is refused and names the owner; every row once",
)
def test_of_two_processes_that_resume_at_once_one_is_refused(chaos: Chaos) -> None:
    chaos.killed_at(MEASURE, "run", chaos.matrix(seconds=3))
    both = [chaos.user.start("matrix", "resume") for _ in range(2)]
    said = [process.communicate(timeout=240)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    (refused,) = [text for text, process in zip(said, both, strict=True) if process.returncode]
    assert "is run by a process that is alive" in refused
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@drill(
    done="Ctrl-C twice while cells are measured, then cancel and resume",
    holds="it exits at once and says how to continue; the cells end as cancelled and nothing is "
    "rented",
)
def test_ctrl_c_twice_exits_at_once_and_resume_continues(chaos: Chaos) -> None:
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=20, max_parallel=2))
    read_until(process, "measuring")
    process.send_signal(signal.SIGINT)
    read_until(process, "stopping in order")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "matrix resume" in said
    done = chaos.user.run("matrix", "cancel")
    assert done.returncode == 0, done.stderr
    ended = chaos.user.run("matrix", "resume")
    assert ended.returncode in (1, 2), ended.stderr
    assert states(chaos) == {"cancelled": 2}
    assert chaos.books().wrong == ()


@drill(
    done="Ctrl-C once while a cell is measured, then resume",
    holds="what was rented is given back at once; resume measures the rest, every row once",
)
def test_ctrl_c_once_gives_back_and_resume_measures_the_rest(chaos: Chaos) -> None:
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=4, max_parallel=1))
    read_until(process, "measuring")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=240)
    assert process.returncode == 130
    assert chaos.books().leaked == ()
    chaos.resumed()
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@drill(
    done="a matrix whose process was killed is cancelled at 3 moments",
    holds="every cell ends as cancelled and nothing is rented",
)
@pytest.mark.parametrize(
    "moment",
    [
        "after diskbench.engine.matrix.worker:feed 1",
        "after diskbench.engine.matrix.cells:LiveCells.open 1",
        MEASURE,
    ],
)
def test_a_matrix_that_is_cancelled_without_a_process_gives_everything_back(
    chaos: Chaos, moment: str
) -> None:
    chaos.killed_at(moment, "run", chaos.matrix(seconds=20))
    done = chaos.user.run("matrix", "cancel")
    assert done.returncode == 0, done.stderr
    chaos.user.run("matrix", "resume")
    assert states(chaos) == {"cancelled": 2}
    assert chaos.books().wrong == ()


def read_until(process: subprocess.Popen[str], text: str) -> None:
    """Read what it says up to the line that holds `text`."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if text in line:
            return
    raise AssertionError(f"it ended without saying {text!r}:\n{said}")
