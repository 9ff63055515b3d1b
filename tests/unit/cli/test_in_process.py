"""`main(argv)` in the caller's process: leaves nothing of itself behind, and ends with a code."""

import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from diskbench import errors
from diskbench.cli.foreground import exit_code
from diskbench.cli.main import main
from diskbench.engine.matrix.cells import TrialEnding
from diskbench.engine.trial import steps
from diskbench.engine.trial.stop import Stop
from diskbench.errors import StoreUnavailable, Suspended
from diskbench.model.outcome import RunEnd, problem_of

JOB = "[read]\nrw=read\nbs=64k\nsize=1m\nioengine=psync\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in [one for one in os.environ if one.startswith(("DISKBENCH_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "target").mkdir()
    (tmp_path / "job.fio").write_text(JOB)
    return tmp_path


def state_of_the_process():
    """What a command may change of the process that it runs in."""
    loggers = [logging.getLogger(name) for name in ("", "diskbench", "dbos", "paramiko")]
    return {
        "handlers": [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)],
        "streams": (sys.stdout, sys.stderr),
        "logging": [(one.level, one.handlers[:]) for one in loggers],
        "directory": Path.cwd(),
        "threads": {one.name for one in threading.enumerate() if one.is_alive()},
    }


def run(home, *more):
    return main(["run", "--quiet", "--path", str(home / "target"), "--profile",
                 str(home / "job.fio"), *more])  # fmt: skip


@pytest.mark.slow
def test_a_run_returns_its_exit_code_and_leaves_the_process_as_it_was(home, capsys):
    before = state_of_the_process()
    assert run(home, "--output", "json") == 0
    assert state_of_the_process() == before
    assert json.loads(capsys.readouterr().out)["runs"][0]["state"] == "done"


@pytest.mark.slow
def test_it_can_be_called_again_and_from_another_thread(home, capsys):
    codes = []
    for one in [threading.Thread(target=lambda: codes.append(run(home))) for _ in range(2)]:
        one.start()
        one.join()
    assert codes == [0, 0]
    assert main(["results", "list", "--output", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out.split("\n\n")[-1])["runs"]) == 2


@pytest.mark.parametrize("arguments", [["version"], ["nonsense"], ["results", "show", "nobody"]])
@pytest.mark.usefixtures("home")
def test_short_commands_leave_the_process_as_it_was(arguments):
    before = state_of_the_process()
    main([*arguments])
    assert state_of_the_process() == before


@pytest.mark.slow
def test_a_suspended_trial_returns_and_another_call_goes_on(home, monkeypatch, capsys):
    def full(*_args, **_kwargs):
        raise StoreUnavailable("no space left")

    before = state_of_the_process()
    with monkeypatch.context() as broken:
        broken.setattr(steps, "write_step_evidence", full)
        assert run(home) == 2
    assert "diskbench resume" in capsys.readouterr().err
    assert state_of_the_process() == before
    assert main(["resume", "--quiet", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["state"] == "done"
    assert list((home / "target").iterdir()) == []
    assert state_of_the_process() == before


def test_a_process_that_leaves_is_suspended_and_not_stopped():
    stop = Stop()
    wish = stop.of("one")
    stop.leave()
    for ask in (wish.is_set, lambda: wish.wait(60), lambda: stop.pause(60), stop.of("two").is_set):
        with pytest.raises(Suspended):
            ask()
    assert not stop.asked("one")


def ended(*states):
    return tuple(RunEnd(run_id=str(i), run_index=i, state=s) for i, s in enumerate(states))


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"end": ended("done", "done")}, 0), ({"end": ended("failed", "cancelled")}, 1),
        ({"end": ended("interrupted", "cancelled")}, 130),
        ({"suspended": errors.StoreUnavailable("full")}, 2),
        ({"suspended": ValueError("a fault")}, 1),
        ({"suspended": errors.ConnectionLost("away")}, 1),
        ({"suspended": errors.ConnectionLost("away"), "stopped": True}, 130),
        ({"end": ended("failed"), "problem": problem_of(errors.AccessDenied("expired"))}, 2),
        ({"end": ended("failed"), "problem": problem_of(errors.NoCapacity("none"))}, 1),
        ({"end": ended("done"), "not_released": errors.ReleaseFailed("left")}, 3), ({}, 1),
    ],
)  # fmt: skip
def test_the_exit_code_tells_what_costs_most(how, code):
    assert exit_code(TrialEnding("t1", **how)) == code
