"""What may go wrong between the start of a unit and fio's: turns, holds and permissions."""

import contextlib
import fcntl
import os
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import ulid
from tests.rigs.loops import tmpfs
from tests.rigs.waiting import started, until
from tests.rigs.windows import first_on_path, program

from diskbench.errors import MeasurementFailed
from diskbench.hosts import unit as units
from diskbench.hosts.jobs import _follow, _Follower, start_and_watch
from diskbench.hosts.local import LocalHost
from diskbench.hosts.unit import Unit
from diskbench.hosts.workspace import cleanup, make_workspace
from diskbench.model.spec import ResolvedTarget

HERE = LocalHost()
CLAIMS = Path("/run/lock")
HURRY_S = 100
"""Far longer than any of it takes on an idle machine."""


def target_in(place):
    """A directory on a disk of its own below this place, with places for a trial."""
    name, measured = f"diskbench-{str(ulid.ULID()).lower()}", str(place / "measured")
    work = {"work_dir": f"{measured}/{name}", "state_dir": f"{place}/{name}"}
    return ResolvedTarget(kind="directory", path=measured, size_bytes=2**20, **work)


@pytest.fixture
def unit(tmp_path):
    target = target_in(tmp_path)
    with tmpfs(tmp_path / "measured"):
        make_workspace(HERE, target)
        yield Unit(
            trial_id=target.state_dir.rpartition("-")[2], run_index=0, name="000-read",
            state_dir=target.state_dir, work_dir=target.work_dir, drop_caches=False,
            job=f"[x]\ndirectory={target.work_dir}\nrw=randread\nsize=1m\nioengine=psync\n",
        )  # fmt: skip
        cleanup(HERE, target)


@pytest.fixture
def their_claim(unit):
    """A claim of somebody else on the unit's disk, which says no more than that."""
    claim = CLAIMS / f"diskbench-00{secrets.token_hex(12)}.claim"
    number = Path(unit.work_dir or "").stat().st_dev
    claim.write_text(f"disks {os.major(number)}:{os.minor(number)}\n")
    yield claim
    claim.unlink()


@contextlib.contextmanager
def locked(claim):
    with claim.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def live(unit):
    with contextlib.suppress(FileNotFoundError):
        return Path(unit.directory, "live.tsv").read_text()
    return ""


def ran_fio(unit):
    return Path(unit.directory, "fio.pid").exists()


def processes_of(unit):
    mark, found = f"DISKBENCH_TRIAL={unit.state_dir}".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


def watched(unit, should_stop=lambda: False, **more):
    return start_and_watch(HERE, unit, lambda _: None, should_stop, **more)


def test_a_stop_arrives_while_a_claim_names_no_trial(unit, their_claim):
    """A stop arrives while the step waits for a locked claim on the disk that names no trial."""
    asked = threading.Event()

    def stage(name):
        if name == "turn":
            asked.set()

    with locked(their_claim):
        begun = time.monotonic()
        end = watched(unit, asked.is_set, on_stage=stage)
    assert end.stopped
    assert time.monotonic() - begun < HURRY_S
    assert not ran_fio(unit)
    assert not (CLAIMS / f"diskbench-{unit.trial_id}.claim").exists()


def test_a_claim_that_names_no_trial_is_reported(unit, their_claim):
    """The same claim blocks a run that may not wait, and a run that waits."""
    notes: list[str] = []
    with ThreadPoolExecutor(1) as pool, locked(their_claim):
        with pytest.raises(MeasurementFailed, match=r"names no trial \(user root\)"):
            watched(unit.model_copy(update={"if_busy": "fail"}))
        assert not ran_fio(unit)
        second = unit.model_copy(update={"name": "001-read"})
        waits = pool.submit(watched, second, on_note=notes.append)
        until(lambda: bool(notes))
    assert waits.result(HURRY_S).fio_exit == 0
    assert "names no trial" in notes[0]


def test_a_unit_without_a_follower_does_not_block_the_disk(unit, monkeypatch):
    """No process follows a unit that waits for its permission; another run measures the disk."""
    monkeypatch.setattr(units, "GO_LIMIT_S", 2)
    started(HERE, unit)
    until(lambda: "? " in live(unit))
    target = target_in(Path(unit.state_dir).parent)
    make_workspace(HERE, target)
    state, work = target.state_dir, target.work_dir
    places = {"trial_id": state.rpartition("-")[2], "state_dir": state, "work_dir": work}
    other = unit.model_copy(update={**places, "job": unit.job.replace(unit.work_dir, work)})
    begun = time.monotonic()
    try:
        assert watched(other, lambda: time.monotonic() - begun > HURRY_S).fio_exit == 0
    finally:
        cleanup(HERE, target)
    assert not ran_fio(unit)
    assert watched(unit).fio_exit == 0


def test_a_unit_without_a_follower_ends_and_can_be_started_again(unit, monkeypatch):
    """No process follows a unit for longer than it waits, as after its command was killed."""
    monkeypatch.setattr(units, "GO_LIMIT_S", 1)
    started(HERE, unit)
    until(lambda: "? " in live(unit))
    until(lambda: not processes_of(unit))
    directory = Path(unit.directory)
    assert not (directory / "pid").exists()
    assert not (directory / "exit").exists()
    assert not ran_fio(unit)
    monkeypatch.undo()
    assert watched(unit).fio_exit == 0
    assert ran_fio(unit)


def test_a_follower_whose_unit_ended_starts_it_again_from_its_first_line(unit):
    """A connection was broken for longer than its unit waits, after thousands of lines."""
    lines: list[str] = []
    follower = _Follower(lambda _: lines.append("tick"), lines.append, lines.append)
    follower.lines = 5000
    assert (_follow(HERE, unit, follower, lambda: False) or "").startswith("= 0 ")
    assert "go" in lines or "check" in lines
    assert follower.lines == live(unit).count("\n")


def test_a_unit_that_never_begins_is_not_waited_for(unit, tmp_path, monkeypatch):
    """A unit is launched whose shell cannot start: the step fails with this reason."""
    monkeypatch.setattr(units, "BEGIN_LIMIT_S", 2)
    program(tmp_path / "shims/setsid", "echo 'setsid: no more processes' >&2\nexit 1")
    monkeypatch.setenv("PATH", first_on_path(tmp_path / "shims"))
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(MeasurementFailed, match="within 2 s; setsid: no more processes"),
    ):
        pool.submit(watched, unit).result(HURRY_S)
