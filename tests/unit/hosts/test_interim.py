"""The filter beside fio, fed with what the fio installed here prints."""

import functools
import json
import subprocess
from pathlib import Path

import pytest
from tests.rigs.ailing import ailing_host
from tests.rigs.windows import program
from tests.unit.hosts.conftest import watch

from diskbench.errors import MeasurementFailed
from diskbench.fio.recorded import CHECKSUM_S, parse_canary
from diskbench.fio.samples import parse_live, tick
from diskbench.hosts import unit as units
from diskbench.hosts.agent import Interim
from diskbench.hosts.unit import UnitExit

pytestmark = pytest.mark.slow


def filtered(text, chunk=65536):
    """(what is kept, lines of live.tsv) of what fio prints, as it comes in chunks."""
    interim, lines, data = Interim(), [], text.encode()
    for at in range(0, len(data), chunk):
        lines += interim.feed(data[at : at + chunk])
    return interim.text().decode(), lines


@pytest.fixture(scope="module")
def run_fio(tmp_path_factory):
    @functools.cache
    def run(*options, jobs=("[a]\nrw=randread", "[b]\nrw=randwrite", "[c]\nrw=randtrim")):
        directory = tmp_path_factory.mktemp("fio")
        head = (
            "[global]\nioengine=null\nsize=1g\nbs=4k\nrate_iops=25,25,25\n"
            "time_based\nruntime=2500ms\n"  # two documents, also where the first is late
        )
        (directory / "j.fio").write_text(head + "\n".join((*options, *jobs)) + "\n")
        done = subprocess.run(
            ["fio", "--output-format=json+", "--status-interval=1", "--eta=never", "j.fio"],
            cwd=directory, start_new_session=True, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    return run


def split(text):
    """The documents in fio's own output."""
    found, lines = [], []
    for line in text.splitlines():
        if line == "{":
            lines = []
        lines.append(line)
        if line == "}":
            found.append(json.loads("\n".join(lines)))
    return found


def summed(document):
    """What a live line should say, reckoned from the JSON itself."""
    ways = [j[way] for j in document["jobs"] for way in ("read", "write", "trim")]
    row = [document["timestamp_ms"] / 1000, max(way["runtime"] for way in ways) / 1000]
    for way in ("read", "write", "trim"):
        stats = [j[way] for j in document["jobs"]]
        row += [
            sum(s["total_ios"] for s in stats),
            sum(s["io_bytes"] for s in stats),
            sum(s["lat_ns"]["mean"] * s["lat_ns"]["N"] for s in stats),
            sum(s["lat_ns"]["N"] for s in stats),
        ]
    return row


@pytest.mark.parametrize("options", [(), ("group_reporting=1",), ("unified_rw_reporting=0",)])
def test_every_document_becomes_a_line_and_the_last_one_is_kept(run_fio, options):
    text = run_fio(*options)
    every = split(text)
    assert len(every) >= 2
    kept, lines = filtered(text)
    assert json.loads(kept) == every[-1]
    assert len(lines) == len(every)
    for line, document in zip(lines, every, strict=True):
        assert [float(f) for f in line.split("\t")] == pytest.approx(summed(document), rel=1e-6)


@pytest.mark.parametrize("jobs", [
    ("[a]\nrw=randrw\nnumjobs=4",),
    ("[a]\nrw=randread\nnumjobs=3", "[b]\nnew_group\nrw=randwrite"),
])  # fmt: skip
def test_a_group_runs_as_long_and_as_fast_as_its_jobs_side_by_side(run_fio, jobs):
    """With group_reporting fio adds the job_runtime of the jobs up: 4 jobs of 2.5 s ran 10 s."""
    for options in ((), ("group_reporting",)):
        _, lines = filtered(run_fio(*options, jobs=jobs))
        totals = [parse_live(line.encode()) for line in lines]
        assert 2.4 < totals[-1].runtime_s < 4
        rates = tick(None, totals[-1])
        ways = 2 if "randrw" in jobs[0] else 1
        assert rates.read_iops + rates.write_iops == pytest.approx(4 * ways * 25, rel=0.2)


def test_a_job_that_still_waits_counts_the_time_once_and_unified_reporting_as_reads(run_fio):
    text = run_fio("group_reporting", "startdelay=2", "numjobs=4", jobs=("[a]\nrw=randread",))
    _, lines = filtered(text)
    assert [parse_live(line.encode()).runtime_s < 6 for line in lines] == [True] * len(lines)
    text = run_fio("unified_rw_reporting=1")
    _, lines = filtered(text)
    total = sum(j["mixed"]["total_ios"] for j in split(text)[-1]["jobs"])
    assert parse_live(lines[-1].encode()).read.ios == total


def test_text_outside_documents_and_what_was_cut_in_the_middle_are_kept(run_fio):
    text = run_fio()
    first = text.index("\n}\n") + 3
    said = "fio: terminating on signal 15\n"
    kept, lines = filtered(f"fio: a warning\n{text[:first]}{said}{text[first:]}after\n")
    assert kept.startswith("fio: a warning\nfio: terminating on signal 15\nafter\n{\n")
    assert len(lines) == len(split(text))
    kept, lines = filtered(text[: text.rindex('"job_runtime"')])
    assert split(kept)[0] == split(text)[-2]
    assert len(lines) == len(split(text)) - 1


@pytest.mark.parametrize("text", ["", "no json at all\n", "{\n}\n", "}\n{\n", "{\n{\n}\n"])
def test_odd_output_loses_nothing_and_does_not_fail(text):
    kept, _ = filtered(text)
    assert sorted(kept.split()) == sorted(text.split())


def test_latencies_without_a_count_use_the_ios_and_of_endless_output_a_part_is_kept():
    read = {"io_bytes": 8192, "runtime": 1500, "total_ios": 2, "lat_ns": {"mean": 500.5}}
    jobs, disks = [{"read": read, "job_runtime": 1500}], [{"read": {"total_ios": 99}}]
    head = {"fio version": "fio-3.16", "timestamp": 1_700_000_000}
    parts = head | {"jobs": jobs, "disk_util": disks}
    _, lines = filtered(json.dumps(parts, indent=2, separators=(",", " : ")) + "\n")
    live = parse_live(lines[0].encode())
    assert (live.unix_s, live.runtime_s) == (1_700_000_000, 1.5)
    assert (live.read.ios, live.read.bytes, live.read.latency_sum_ns) == (2, 8192, 1001)
    interim = Interim()
    for _ in range(64):
        list(interim.feed(b"fill the disk\n" * 8192))
    assert len(interim.text()) <= Interim.MOST_OUTSIDE + 14


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_documents_are_the_same_however_they_arrive(run_fio, chunk):
    text = "warning\n{\n}\n" + run_fio() + '{\n  "fio version" : "fio-3.33",\n'
    assert filtered(text, chunk=chunk) == filtered(text)


# The stages before fio: a limit on each, and what is done where it is passed.


@pytest.fixture
def host(tmp_path, monkeypatch):
    host = ailing_host(tmp_path / "ailing")
    monkeypatch.setenv("PATH", host.path)
    return host


def test_a_sync_over_its_limit_fails_the_step_before_fio(make_unit, host, monkeypatch):
    monkeypatch.setattr(units, "SYNC_LIMIT_S", 2)
    host.hold("sync")
    with pytest.raises(MeasurementFailed, match=r"was not started .*\(sync\) did not end within"):
        watch(make_unit(1))
    assert host.fio_starts == 0


def test_a_canary_over_its_limit_is_left_out_and_said(make_unit, host, monkeypatch):
    monkeypatch.setattr(units, "CANARY_LIMIT_S", 2)
    host.hold("sha256sum")
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
    program(host.place / "bin/sync", "exit 1")
    unit = make_unit(0.2)
    Path(unit.work_dir, "of-an-earlier-step").write_bytes(b"1")
    assert watch(unit).fio_exit == 0
    assert "method drop_caches" in Path(unit.directory, "cache.txt").read_text()


def ran(begin, end, seconds):
    return UnitExit(0, started_unix_s=begin, ended_unix_s=end, seconds_in_fio=seconds)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("= 0 0 100.5 102.5 ", ran(100.5, 102.5, 2)),
        ("= 0 0 100 90 seconds=2.5 moved=-12 ", ran(100, 102.5, 2.5)),
        ("= 125 0 0 0 refused: a=b", UnitExit(125, reason="refused: a=b")),
        ("= 126 1 0 0 seconds=0 moved=0 ", UnitExit(126, stopped=True)),
        ("= 128 0 0 0 boot=changed moved=0 signal=15 ", UnitExit(128, signal=15, rebooted=True)),
        ("= lost", UnitExit(is_lost=True)),
        ("= lost boot=changed oom_kills=2", UnitExit(is_lost=True, rebooted=True, oom_kills=2)),
        ("= x y z w", UnitExit(is_garbled=True)),
        ("= ", UnitExit(is_lost=True)),
        (f"= {'9' * 5000} 0 100 102 ", UnitExit(is_garbled=True)),
        ("= -1 0 100 102 ", UnitExit(is_garbled=True)),
        (f"= 0 0 100 102 signal={'9' * 5000} ", ran(100, 102, 2)),
        (f"= lost oom_kills={'9' * 5000}", UnitExit(is_lost=True)),
    ],
)
def test_a_last_word_is_read_of_any_version(line, expected):
    assert UnitExit.of(line) == expected
