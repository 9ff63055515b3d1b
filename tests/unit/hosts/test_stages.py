"""The stages before fio: a limit on each, and what is done where it is passed."""

from pathlib import Path

import pytest
from tests.rigs.ailing import ailing_host

from diskbench.errors import MeasurementFailed
from diskbench.fio.recorded import CHECKSUM_S, parse_canary
from diskbench.hosts import unit as units
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.local import LocalHost
from diskbench.hosts.unit import UnitExit

pytestmark = pytest.mark.slow


@pytest.fixture
def host(tmp_path, monkeypatch):
    host = ailing_host(tmp_path / "ailing")
    monkeypatch.setenv("PATH", host.path)
    return host


def watch(unit, should_stop=lambda: False, **more):
    return start_and_watch(LocalHost(), unit, lambda _: None, should_stop, **more)


def test_a_sync_over_its_limit_fails_the_step_before_fio(make_unit, host, monkeypatch):
    monkeypatch.setattr(units, "SYNC_LIMIT_S", 2)
    host.hold("sync")
    with pytest.raises(MeasurementFailed, match=r"was not started .*\(sync\) did not end within"):
        watch(make_unit(1))
    assert host.fio_starts == 0


def test_a_canary_over_its_limit_is_left_out_and_said(make_unit, host, monkeypatch):
    monkeypatch.setattr(units, "CANARY_LIMIT_S", 2)
    host.hold("head")
    unit = make_unit(0.2, canary_before=True)
    assert watch(unit).fio_exit == 0
    kept = Path(unit.directory, "canary-before.txt").read_bytes()
    assert kept == b"limit 2 s\n"
    assert CHECKSUM_S not in parse_canary(kept)


def test_a_fio_over_its_limit_is_ended_and_counts_as_hung(make_unit, host):
    end = watch(make_unit(300, fio_limit_s=2))
    assert (end.limit, end.stopped) == ("fio", False)
    assert end.seconds_in_fio < 200
    assert host.fio_starts == 1


def test_the_time_that_a_sync_takes_is_not_fios(make_unit, host):
    host.hold("sync")
    stages = []

    def on_stage(name):
        stages.append(name)
        if name == "sync" and stages.count("sync") == 4:
            host.release("sync")

    end = watch(make_unit(0.5, fio_limit_s=120), on_stage=on_stage)
    assert (end.fio_exit, end.limit) == (0, None)
    assert stages.count("sync") >= 4


def test_a_failing_sync_does_not_keep_the_cache_from_being_dropped(make_unit, host):
    (host.place / "bin" / "sync").write_text("#!/bin/sh\nexit 1\n")
    (host.place / "bin" / "sync").chmod(0o755)
    unit = make_unit(0.2)
    Path(unit.work_dir, "of-an-earlier-step").write_bytes(b"1")
    assert watch(unit).fio_exit == 0
    assert "method drop_caches" in Path(unit.directory, "cache.txt").read_text()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "= 0 0 100.5 102.5 ",
            UnitExit(0, started_unix_s=100.5, ended_unix_s=102.5, seconds_in_fio=2),
        ),
        (
            "= 0 0 100 90 seconds=2.5 moved=-12 ",
            UnitExit(0, started_unix_s=100, ended_unix_s=102.5, seconds_in_fio=2.5),
        ),
        ("= 125 0 0 0 refused: a=b", UnitExit(125, reason="refused: a=b")),
        ("= 126 1 0 0 seconds=0 moved=0 ", UnitExit(126, stopped=True)),
        (
            "= 128 0 0 0 boot=changed seconds=0 moved=0 signal=15 ",
            UnitExit(128, signal=15, rebooted=True),
        ),
        ("= lost", UnitExit(is_lost=True)),
        ("= lost boot=changed oom_kills=2", UnitExit(is_lost=True, rebooted=True, oom_kills=2)),
        ("= x y z w", UnitExit(is_garbled=True)),
        ("= ", UnitExit(is_lost=True)),
        (f"= {'9' * 5000} 0 100 102 ", UnitExit(is_garbled=True)),
        ("= -1 0 100 102 ", UnitExit(is_garbled=True)),
        (
            f"= 0 0 100 102 signal={'9' * 5000} ",
            UnitExit(0, started_unix_s=100, ended_unix_s=102, seconds_in_fio=2),
        ),
        (f"= lost oom_kills={'9' * 5000}", UnitExit(is_lost=True)),
    ],
)
def test_a_last_word_is_read_of_any_version(line, expected):
    assert UnitExit.of(line) == expected
