"""Detached fio on this machine, for real: started once, followed, stopped, lost, collected."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from tests.rigs.fake_host import FakeHost, Fault
from tests.rigs.loops import tmpfs
from tests.rigs.waiting import started, until

from diskbench.errors import ConnectionLost, EvidenceDamaged, MeasurementFailed, ReleaseFailed
from diskbench.fio.recorded import CHECKSUM_S, NULL_IOPS, parse_cache_drop, parse_canary
from diskbench.hosts import collect as collecting
from diskbench.hosts import jobs
from diskbench.hosts.agent import living_in
from diskbench.hosts.collect import collect
from diskbench.hosts.jobs import start_and_watch, stop
from diskbench.hosts.local import LocalHost
from diskbench.hosts.unit import payload, start_script
from diskbench.hosts.workspace import cleanup, directories, make_workspace

pytestmark = pytest.mark.slow

QUIET = {"on_tick": lambda _: None, "should_stop": lambda: False}


def fio_starts(unit):
    """How many fio processes this unit started: its output names its start once each."""
    return Path(unit.directory, "fio.json").read_text().count('"fio version"')


def watch(host, unit, **changes):
    return start_and_watch(host, unit, **(QUIET | changes))


def test_a_step_leaves_all_its_files_and_its_ticks_agree_with_fio(make_unit, tmp_path):
    unit, ticks = make_unit(2, canary_before=True, canary_after=True), []
    end = watch(LocalHost(), unit, on_tick=ticks.append)
    assert (end.fio_exit, end.stopped) == (0, False)
    assert 2 <= end.seconds_in_fio < 200
    until(lambda: not list(living_in(unit.directory, unit.state_dir)), "the end of all of it", 50)
    names = {p.name for p in collect(LocalHost(), unit, tmp_path / "got")}
    assert {
        "job.fio", "fio.json", "live.tsv", "stderr.txt", "samples.txt", "cache.txt", "fio.exit",
        "fio_bw.1.log", "fio_bw.2.log", "canary-before.txt", "canary-after.txt", "SHA256SUMS",
    } <= names  # fmt: skip
    document = json.loads((tmp_path / "got" / "fio.json").read_text())
    assert [j["jobname"] for j in document["jobs"]] == ["one", "two"]
    reads = sum(j["read"]["total_ios"] for j in document["jobs"])
    told = (tmp_path / "got" / "live.tsv").read_text().splitlines()
    documents = [line.split("\t") for line in told if "\t" in line]  # the others are heartbeats
    assert int(documents[-1][2]) == reads
    assert len(ticks) >= 2
    assert all(t.latency_ns and t.latency_ns > 0 for t in ticks if t.read_iops)
    seconds, first = float(documents[0][1]), int(documents[0][2])
    assert ticks[0].read_iops == pytest.approx(first / seconds, rel=0.01)
    assert 0 < ticks[0].read_iops < 1000  # two jobs at 200 each, while the machine has time
    for name in ("canary-before.txt", "canary-after.txt"):
        canary = parse_canary((tmp_path / "got" / name).read_bytes())
        assert canary[CHECKSUM_S]
        assert canary[NULL_IOPS] > 10_000


def test_samples_cover_fio_from_its_start_to_its_end(make_unit, tmp_path):
    from diskbench.fio.samples import parse_samples

    unit = make_unit(1.9)  # the last of one sample a second comes long before the end
    end = watch(LocalHost(), unit)
    collect(LocalHost(), unit, tmp_path / "got")
    samples = (tmp_path / "got" / "samples.txt").read_bytes()
    times = [float(line[2:]) for line in samples.splitlines() if line.startswith(b"@ ")]
    assert -0.8 < times[-1] - times[0] - end.seconds_in_fio < 200
    assert 0 <= parse_samples(samples).busiest_core <= 1


def test_directories_are_made_with_the_start_and_why_they_are_not_is_told(make_unit, target):
    unit, first = make_unit(0.2), directories(target)
    cleanup(LocalHost(), target)
    nowhere = first | {"state": "/proc/nowhere/diskbench"}
    with pytest.raises(MeasurementFailed, match=r"could not be started .*: cannot write to /proc/"):
        watch(LocalHost(), unit, first=nowhere)
    assert not Path(target.state_dir).exists()
    assert watch(LocalHost(), unit, first=first).fio_exit == 0


def test_a_trial_that_was_cleaned_away_is_not_made_again_by_who_still_follows_it(make_unit, target):
    unit = make_unit(600)

    class Cut(LocalHost):
        """Its connection ends with the first line, when the trial has been cleaned away."""

        def stream(self, script, **more):
            for line in super().stream(script, **more):
                yield line
                if line.startswith(b'"@ '):
                    cleanup(LocalHost(), target)
                    raise ConnectionLost("cut")

    with pytest.raises(MeasurementFailed, match="is gone"):
        watch(Cut(), unit, first=directories(target))
    assert not Path(target.state_dir).exists()
    assert not Path(target.work_dir).exists()


def test_a_start_whose_files_do_not_come_whole_starts_nothing(make_unit):
    """The controller is killed, or the connection breaks, while it says what to measure."""
    unit = make_unit(0.2)
    for come in (b"", payload(unit)[:-9]):
        *_, last = LocalHost().stream(start_script(unit, 1), stdin=come)
        assert last == b'{"failed": "the files of the step did not come"}'
        assert not Path(unit.directory, "pid").exists()
    assert watch(LocalHost(), unit).fio_exit == 0


def test_a_second_start_attaches_and_starts_no_second_fio(make_unit):
    unit, ends = make_unit(2), []
    started = threading.Event()

    def other():
        ends.append(watch(LocalHost(), unit, on_tick=lambda _: started.set()))

    threads = [threading.Thread(target=other) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert started.wait(200)
    ends.append(watch(LocalHost(), unit))
    for thread in threads:
        thread.join()
    assert len(set(ends)) == 1
    assert fio_starts(unit) == 1


def test_a_finished_step_has_one_end_and_changed_files_are_damage(make_unit, tmp_path, monkeypatch):
    unit = make_unit(0.2)
    first = watch(LocalHost(), unit)
    assert watch(LocalHost(), unit) == first
    assert fio_starts(unit) == 1
    assert stop(LocalHost(), unit)
    assert watch(LocalHost(), unit) == first
    sums = Path(unit.directory, "SHA256SUMS")
    assert " exit" not in sums.read_text()
    assert Path(unit.directory, "exit").stat().st_mtime_ns >= sums.stat().st_mtime_ns
    told = Path(unit.directory, "unit.json")
    told.write_text(told.read_text().replace('"protocol": 1', '"protocol": 2'))
    with pytest.raises(MeasurementFailed, match="another version of diskbench started it: cont"):
        watch(LocalHost(), unit)
    monkeypatch.setattr(collecting, "ATTEMPTS", 1)
    Path(unit.directory, "fio.json").write_text("{}")
    with pytest.raises(EvidenceDamaged, match=r"fio\.json of step 000-mix does not match"):
        collect(LocalHost(), unit, tmp_path / "got")


def test_a_stop_ends_fio_early_and_keeps_what_was_measured(make_unit, tmp_path):
    unit, ticked = make_unit(600), []
    end = watch(LocalHost(), unit, on_tick=ticked.append, should_stop=lambda: bool(ticked))
    assert end.stopped
    assert end.seconds_in_fio < 600
    collect(LocalHost(), unit, tmp_path / "got")
    assert '"jobs"' in (tmp_path / "got" / "fio.json").read_text()


@pytest.mark.parametrize("before", [True, False])
def test_a_stop_before_the_unit_is_started_keeps_fio_from_starting(make_unit, before):
    unit = make_unit(600)
    assert not before or not stop(LocalHost(), unit), "there is no unit that will end"
    end = watch(LocalHost(), unit, should_stop=lambda: not before)
    assert (end.stopped, end.seconds_in_fio) == (True, 0)
    assert not Path(unit.directory, "fio.pid").exists()


def test_a_unit_that_is_killed_is_lost_at_once_but_not_its_files(make_unit, target, tmp_path):
    unit = make_unit(60)

    def kill(_):
        with contextlib.suppress(ProcessLookupError):  # later ticks of a unit that is dead
            os.kill(int(Path(unit.directory, "pid").read_text().split()[0]), signal.SIGKILL)

    with pytest.raises(MeasurementFailed, match="died on this machine without a result"):
        watch(LocalHost(), unit, on_tick=kill)
    names = {p.name for p in collect(LocalHost(), unit, tmp_path / "got")}
    assert {"job.fio", "live.tsv", "samples.txt"} <= names
    with pytest.raises(MeasurementFailed, match="without a result"):
        watch(LocalHost(), unit)
    *_, last = LocalHost().stream(start_script(unit, 1))
    assert re.match(rb'"= lost oom_kills=\d+ *"$', last), "whether memory was short is known"
    cleanup(LocalHost(), target)
    assert standing_in(target.state_dir) == [], "fio's workers are ended"


def test_fio_that_fails_is_told_by_its_exit_and_its_words(make_unit, tmp_path):
    unit = make_unit(1, job="[x]\nfilename=/proc/nothing\nrw=read\nsize=1m\n")
    assert watch(LocalHost(), unit).fio_exit != 0
    collect(LocalHost(), unit, tmp_path / "got")
    got = [(tmp_path / "got" / name).read_text() for name in ("stderr.txt", "fio.json")]
    assert "/proc/nothing" in "".join(got)


def test_a_work_directory_that_is_gone_is_refused_before_fio(make_unit, target):
    unit = make_unit(1)
    Path(target.work_dir).rmdir()
    with pytest.raises(MeasurementFailed, match=r"refused: .* is gone"):
        watch(LocalHost(), unit)
    assert not Path(unit.directory, "fio.json").exists()


def test_the_page_cache_is_dropped_and_the_drop_is_verified(make_unit, target, tmp_path):
    unit = make_unit(0.1)
    cached = Path(target.work_dir, "one.0.0")
    cached.write_bytes(os.urandom(2**20))
    cached.read_bytes()
    watch(LocalHost(), unit)
    collect(LocalHost(), unit, tmp_path / "got")
    drop = parse_cache_drop((tmp_path / "got" / "cache.txt").read_bytes())
    assert (drop.method, drop.what, drop.after_bytes) == ("drop_caches", "files", 0)
    assert drop.verified


@pytest.mark.parametrize("name", ["one.0.0", ".hidden"])
def test_the_machines_page_cache_is_dropped_only_with_test_files(make_unit, target, name):
    unit = make_unit(0.1, canary_after=True)
    watch(LocalHost(), unit)
    assert "method fadvise\n" in Path(unit.directory, "cache.txt").read_text()
    again = unit.model_copy(update={"name": "001-again"})
    for path in Path(target.work_dir).iterdir():
        path.unlink()
    Path(target.work_dir, name).write_bytes(b"1")
    watch(LocalHost(), again)
    assert "method drop_caches\n" in Path(again.directory, "cache.txt").read_text()


def test_without_root_the_files_own_pages_are_dropped(make_unit, target, as_nobody):
    unit = make_unit(0.1)
    as_nobody()
    subprocess.run(["chown", "-R", "65534:65534", target.work_dir, target.state_dir], check=True)
    cached = Path(target.work_dir, "one.0.0")
    cached.write_bytes(os.urandom(2**20))
    os.chown(cached, 65534, 65534)
    watch(LocalHost(), unit)
    drop = parse_cache_drop(Path(unit.directory, "cache.txt").read_bytes())
    assert (drop.method, drop.after_bytes, drop.verified) == ("fadvise", 0, True)
    kept = unit.model_copy(update={"name": "001-kept", "drop_caches": False})
    watch(LocalHost(), kept)
    drop = parse_cache_drop(Path(kept.directory, "cache.txt").read_bytes())
    assert (drop.method, drop.verified) == ("kept", None)
    subprocess.run(["chown", "-R", "0:0", target.work_dir, target.state_dir], check=True)


def test_broken_connections_cost_nothing_but_notes(make_unit, tmp_path):
    unit, notes = make_unit(2), []
    faults = [Fault("cut", 0), Fault("cut", 60), Fault("refuse"), Fault("refuse"), Fault("cut", 5)]
    host = FakeHost(faults=faults)
    host.connect()
    assert watch(host, unit, on_note=notes.append).fio_exit == 0
    assert not host.faults
    assert len(notes) >= 4
    assert fio_starts(unit) == 1
    collect(host, unit, tmp_path / "got")


@pytest.mark.parametrize("spoil", [Path.unlink, lambda kept: kept.write_bytes(b"other"), None])
def test_the_program_is_sent_once_a_trial_and_again_where_it_changed(
    make_unit, target, tmp_path, spoil
):
    host, unit, notes = FakeHost(), make_unit(0.1), []
    watch(host, unit)
    (kept,) = Path(unit.state_dir).glob(".agent-*")
    assert kept.stat().st_mode & 0o77 == 0
    sent = len(host.calls)
    if spoil:
        spoil(kept)
    watch(host, unit.model_copy(update={"name": "001-again"}), on_note=notes.append)
    collect(host, unit, tmp_path / "got")
    if spoil:
        spoil(kept)
    cleanup(host, target)
    brought = [len(call) > 20_000 for call in host.calls[sent:] if '"do"' in call]
    assert brought == ([False, True, False, False, True] if spoil else [False] * 3)
    assert len(notes) == bool(spoil)


def test_after_a_stop_a_host_that_stays_away_is_given_up(make_unit, monkeypatch):
    monkeypatch.setattr(jobs, "LONGEST_WAIT_S", 0.01)
    unit, stopping = make_unit(0.1), []
    host = FakeHost(faults=[Fault("cut", 0), *[Fault("refuse")] * 50])
    host.connect()
    with pytest.raises(ConnectionLost):
        watch(host, unit, should_stop=lambda: bool(stopping), on_note=stopping.append)
    assert len(host.faults) > 30


def test_cleanup_stops_what_runs_and_removes_all_of_the_trial_twice(make_unit, target):
    unit, begun = make_unit(60), threading.Event()

    def follow():
        with contextlib.suppress(MeasurementFailed, ConnectionLost):
            watch(LocalHost(), unit, on_tick=lambda _: begun.set())

    thread = threading.Thread(target=follow)
    thread.start()
    assert begun.wait(200)
    cleanup(LocalHost(), target)
    thread.join(200)
    assert not Path(target.state_dir).exists()
    assert not Path(target.work_dir).exists()
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert unit.directory not in listed.stdout
    cleanup(LocalHost(), target)


def standing_in(directory):
    """The numbers of the processes whose working directory lies there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            found += [path.parent.name] if directory in str(path.readlink()) else []
    return found


def test_cleanup_leaves_a_bystander_who_merely_stands_in_the_directory(make_unit, target):
    unit = make_unit(60)
    started(LocalHost(), unit)
    with subprocess.Popen(
        ["sh", "-c", "read x && echo heard"],
        cwd=target.state_dir, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as bystander:  # fmt: skip
        cleanup(LocalHost(), target)
        assert not Path(target.state_dir).exists()
        assert standing_in(target.state_dir) == [str(bystander.pid)]
        assert bystander.communicate("are you there\n")[0] == "heard\n"


@pytest.mark.parametrize(
    "name", ["a place\twith\\odd 040 names", "ends\u2028of\x85lines", "a link"]
)
def test_cleanup_removes_nothing_beneath_a_mount_whatever_its_path_holds(name, target, tmp_path):
    at = tmp_path / name
    if name == "a link":
        (tmp_path / "elsewhere").mkdir()
        at.symlink_to("elsewhere")
    else:
        at.mkdir()
    odd = target.model_copy(update={"work_dir": f"{at}/{Path(target.work_dir).name}"})
    make_workspace(LocalHost(), odd)
    inner = Path(odd.work_dir, "in ner")
    with tmpfs(inner):
        (inner / "precious").touch()
        with pytest.raises(ReleaseFailed, match="holds a mount"):
            cleanup(LocalHost(), odd)
        assert (inner / "precious").exists()
    cleanup(LocalHost(), odd)
    assert not Path(odd.work_dir).exists()


@pytest.mark.parametrize("path", ["/", "/home", "/var/tmp/../diskbench-x", "diskbench-abcd"])
def test_cleanup_removes_nothing_that_does_not_carry_a_trials_name(target, path):
    with pytest.raises(ReleaseFailed, match="does not carry a trial's name"):
        cleanup(FakeHost(), target.model_copy(update={"work_dir": path}))
