"""What a step's unit records, and whether its figures agree with each other."""

import ctypes
import fcntl
import json
import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import FioOutputUnreadable
from diskbench.fio import audit, recorded
from diskbench.fio.declared import Case, declared
from diskbench.fio.output import parse_output
from diskbench.fio.recorded import MAGIC, PAGE_BYTES, parse_exceeded
from diskbench.fio.reported import DirectionStats, FioJob, FioOutput, ReportedLatency
from diskbench.hosts import agent
from diskbench.model.facts import HostFacts
from diskbench.model.result import StepAudit
from diskbench.model.spec import Step
from diskbench.report.assemble.subject import audit_line


@pytest.mark.parametrize(
    ("status", "files", "words"),
    [
        (137, {}, "fio was ended by signal 9 on the host"),
        (137, {"end.txt": b"oom_kills 2\n"}, "out of memory, the kernel killed 2 processes"),
        (1, {"fio.json": b"fio: pid=7, got signal=9\n"}, "fio was ended by signal 9"),
        (1, {"stderr.txt": b"fio: pid=7, got signal=11\n"}, "fio crashed: signal 11, SIGSEGV"),
        (128, {}, "SIGTERM or SIGINT"),
        (134, {}, "fio crashed: signal 6, SIGABRT"),
        (127, {}, "could not be run"),
        (1, {}, "fio ended with status 1"),
        (0, {"stderr.txt": b"fio: job startup hung? exiting.\n"}, "did not start in time"),
    ],
)
def test_each_end_has_words_of_its_own_and_a_good_one_none(status, files, words):
    told, advice = recorded.why_failed(status, files)
    assert words in told
    assert advice
    assert recorded.why_failed(0, {"stderr.txt": b"fio: a warning\n"}) is None


def test_a_canary_has_seconds_and_iops_and_one_that_cannot_be_read_is_empty():
    data = b'checksum_8mib_s 0.123\n{"jobs": [{"read": {"iops": 4000000.5}}]}\n'
    figures = {recorded.CHECKSUM_S: 0.123, recorded.NULL_IOPS: 4000000.5}
    assert recorded.parse_canary(data) == figures
    for bad in (b"", b"checksum_8mib_s nan\n{}", b"checksum_8mib_s -1\n[1]", b"cpu_s 1", b"x"):
        assert recorded.parse_canary(bad) == {}


@pytest.mark.parametrize(
    ("drop", "verified"),
    [
        (recorded.CacheDrop(method="drop_caches", before_bytes=2**30, after_bytes=0), True),
        (recorded.CacheDrop(method="drop_caches", before_bytes=2**30, after_bytes=2**20), True),
        (recorded.CacheDrop(method="fadvise", before_bytes=2**30, after_bytes=2**29), False),
        (recorded.CacheDrop(method="drop_caches"), None),
        (recorded.CacheDrop(method="none", before_bytes=0, after_bytes=0), False),
        (recorded.CacheDrop(method="kept"), None),
    ],
)
def test_a_drop_is_verified_only_when_next_to_nothing_is_left(drop, verified):
    assert drop.verified is verified


def kept(data, job="[read]\nrw=read\n"):
    """The doubt in a step with this cache.txt."""
    output = FioOutput(where="x", version="fio-3.33", jobs=(), options={})
    step = Step(index=0, name="read", job=job, expected_s=1)
    case = Case(step, (), output, HostFacts(), files={"cache.txt": data})
    return next(iter(recorded.kept_cache_doubts(case)), None)


STAYED = b"method drop_caches\nwhat files\nbefore_bytes 104857600\nafter_bytes 52428800\n"


def test_a_cache_that_stayed_is_told_where_it_matters_and_none_that_went_or_was_to_stay():
    told = kept(STAYED)
    assert told.code == "cache-kept"
    assert "50 MiB" in told.message
    assert kept(STAYED, "[read]\nrw=read\ndirect=1\n") is None
    for data in (STAYED.replace(b"52428800", b"0"), b"method kept\n", b""):
        assert kept(data) is None


# --- volume.txt


COUNTERS = st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4)


def page(times, *, magic=MAGIC):
    """A page as Amazon documents it: magic, six counters of work, four times in µs, the queue."""
    head = struct.pack("<I4x11Q", magic, *range(1, 7), *times, 3)
    return head + bytes(PAGE_BYTES - len(head))


def line(when, data, number="259:1"):
    return f"{when} {number} {data.hex()}\n".encode()


@given(COUNTERS, st.lists(st.integers(0, 2**40), min_size=4, max_size=4))
def test_the_times_are_the_seconds_that_each_counter_grew_by(begin, grown):
    end = [first + more for first, more in zip(begin, grown, strict=True)]
    if max(end) >= 2**64:
        end, grown = begin, [0] * 4
    found = parse_exceeded(line("before", page(begin)) + line("after", page(end)))
    assert list(found.seconds) == ["disk-iops", "disk-throughput", "vm-iops", "vm-throughput"]
    assert list(found.seconds.values()) == [value / 1e6 for value in grown]


def test_of_several_volumes_the_one_that_was_longest_beyond_a_limit_counts():
    data = b"".join(
        line("before", page([0] * 4), number) + line("after", page(times), number)
        for number, times in {"259:1": [58_000_000, 0, 0, 0], "259:2": [1, 0, 0, 7_000_000]}.items()
    )
    found = parse_exceeded(data)
    assert (found.seconds["disk-iops"], found.seconds["vm-throughput"]) == (58.0, 7.0)


GOOD = line("before", page([0] * 4))


@pytest.mark.parametrize(
    "data",
    [
        b"", GOOD, GOOD + line("after", page([0] * 4, magic=MAGIC + 1)),
        GOOD + line("after", page([0] * 4)[:-1]), GOOD + line("after", page([0] * 4) + b"\0"),
        GOOD + line("after", page([0] * 4), "259:2"), GOOD + line("meanwhile", page([0] * 4)),
        line("before", page([1, 0, 0, 0])) + line("after", page([0] * 4)),
    ],
)  # fmt: skip
def test_a_page_that_is_missing_damaged_or_counts_backwards_says_nothing(data):
    assert parse_exceeded(data) is None


@given(st.binary(max_size=300))
def test_no_bytes_make_the_parsers_fail(data):
    assert abs(recorded.clock_moved_s(data)) < float("inf")
    recorded.why_failed(1, {"end.txt": data})
    recorded.parse_canary(data)
    recorded.parse_cache_drop(data)
    recorded.parse_cache_drop(b"method none\n" + data)
    parse_exceeded(data)
    parse_exceeded(GOOD + b"after 259:1 " + data)


@pytest.fixture
def kernel(monkeypatch, tmp_path):
    """Two NVMe disks, 259:1 of Amazon's volumes and 259:2 of its machines' own."""
    models = {"nvme1n1": "Amazon Elastic Block Store\n", "nvme2n1": "Amazon EC2 NVMe Storage\n"}
    (tmp_path / "dev/block").mkdir(parents=True)
    for number, (name, model) in enumerate(models.items(), start=1):
        (tmp_path / name / "device").mkdir(parents=True)
        (tmp_path / name / "device/model").write_text(model)
        (tmp_path / "dev/block" / f"259:{number}").symlink_to(tmp_path / name)
        (tmp_path / "dev" / name).touch()
    monkeypatch.setattr(agent, "SYS", str(tmp_path))
    monkeypatch.setattr(agent, "DEV", f"{tmp_path}/dev")


@pytest.mark.usefixtures("kernel")
def test_the_host_asks_the_kernel_for_the_whole_page_of_an_amazon_disk(monkeypatch):
    answer, asked = page([5, 6, 7, 8]), []
    # A disk that gives no page is left out: the plain file in its place knows no such request.
    assert list(agent.volume_pages("before", ["259:1", "0:0", "nonsense"])) == []

    def ioctl(disk, request, command):
        # struct nvme_passthru_cmd, linux/nvme_ioctl.h: 72 bytes
        assert (request, len(command)) == (0xC0484E41, 72)
        opcode, namespace = command[0], struct.unpack_from("=I", command, 4)[0]
        address, size, word = struct.unpack_from("=Q4xII", command, 24)
        assert (opcode, namespace, size, word) == (2, 1, 4096, 0x03FF00D0)
        ctypes.memmove(address, answer, size)
        asked.append(Path(disk.name).name)
        return 0

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    lines = agent.volume_pages("after", ["259:1", "259:2", "7:0"])
    assert "".join(f"{one}\n" for one in lines).encode() == line("after", answer)
    assert asked == ["nvme1n1"]


CASES = Path(__file__).parents[2] / "cases" / "fio_output"
KNOWN_TO_FAIL = {"truncated-last.out": {"end"}}


def output(*, version="fio-3.33", options=None, stamp=1, job=None, **stats):
    figures = {"ios": 1000, "bytes": 4_096_000, "runtime_ns": 10**9} | stats
    told = {"rw": "read", "bs": "4k"} if options is None else options
    of_job = {"options": told, "directions": {"read": DirectionStats(**figures)}, **(job or {})}
    one = FioJob(name="j", index=0, group=0, error=0, **of_job)
    return FioOutput(where="fio.json", version=version, jobs=(one,), options={}, timestamp_ms=stamp)


def holds(one, name, job=""):
    checks = audit.audit_output(one, declared(job), end_known=bool(job))
    return next(check.holds for check in checks if check.name == name)


@pytest.mark.parametrize("path", sorted(CASES.glob("*.out")), ids=lambda path: path.name)
def test_what_fio_wrote_holds_in_every_version(path):
    try:
        found = parse_output(path.read_bytes(), where=path.name)
    except FioOutputUnreadable:
        return
    checks = audit.audit_output(found, {}, end_known=False)
    wrong = {check.name for check in checks if check.holds is False}
    assert wrong == KNOWN_TO_FAIL.get(path.name, set())


@pytest.mark.parametrize(
    ("option", "missing", "all_well"),
    [
        ({"sprandom": "1"}, 63, True), ({"sprandom": "1"}, 65, False),
        ({"sprandom": "0"}, 63, False), ({"latency_target": "10ms"}, 64, True),
        ({"latency_target": "10ms"}, -64, True), ({"latency_target": "10ms"}, 65, False),
        ({"ramp_time": "5"}, 1, False),
    ],
)  # fmt: skip
def test_ios_under_way_may_miss_their_bytes_where_sprandom_ends_or_fio_clears_its_counts(
    option, missing, all_well
):
    told = {"rw": "write", "bs": "4k", "iodepth": "64", "ioengine": "libaio", **option}
    stats = DirectionStats(ios=18_789, bytes=(18_789 - missing) * 4096, runtime_ns=10**9)
    assert holds(output(options=told, job={"directions": {"write": stats}}), "bytes") is all_well


WRONG = ("bytes io_bytes 2", "bytes total_ios 3", "rate iops 1.02", "rate bw_bytes 0.9")


@pytest.mark.parametrize("what", WRONG)
def test_one_wrong_figure_of_a_real_output_is_named(what):
    name, field, factor = what.split()
    root = json.loads((CASES / "v3.33-plain-json.out").read_text())
    for job in root["jobs"]:
        for direction in ("read", "write"):
            told = job[direction][field]
            job[direction][field] = type(told)(told * float(factor))
    found = parse_output(json.dumps(root).encode(), where="x.json")
    checks = audit.audit_output(found, {}, end_known=False)
    assert {check.name for check in checks if check.holds is False} >= {name}
    (doubt, *_) = audit.audit_warnings([c for c in checks if c.name == name], "s")
    assert (doubt.code, doubt.step) == ("figures-disagree", "s")
    assert doubt.message.startswith(f"{name}: job ")


def sized(size, short):
    return {"bytes": size, "short_ios": short}


def latency(mean=200.0, last=300):
    return ReportedLatency(1000, 1, 400, mean, 1.0, {50.0: 100, 99.0: 200, 99.9: last})


FIGURES = {
    "bytes": [
        (sized(4_096_000, 0), True), (sized(4_095_999, 0), False), (sized(4_096_001, 0), False),
        (sized(4_091_904, 1), True), (sized(4_000_000, 1), False),
    ],
    "rate": [({"iops": None}, None), ({"iops": 1009.0}, True), ({"iops": 1011.0}, False)],
    "percentiles": [
        ({"clat": latency()}, True), ({"clat": latency(last=199)}, False),
        ({"lat": latency(), "clat": latency(199.0)}, True),
        ({"lat": latency(), "clat": latency(5e6)}, False),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_bytes_are_ios_times_block_rates_by_time_ios_and_percentiles_rise_within_the_whole(name):
    for stats, expected in FIGURES[name]:
        assert holds(output(**stats), name) is expected, stats


def test_old_versions_round_bytes_down_to_kib():
    told, size = {"rw": "read", "bs": "2300"}, 1000 * 2300 // 1024 * 1024
    assert holds(output(version="fio-2.21", options=told, bytes=size), "bytes") is True
    assert holds(output(version="fio-3.33", options=told, bytes=size), "bytes") is False


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({"rw": "read", "bs": "4k,8k"}, (4096,)),
        ({"rw": "read"}, (4096,)),
        ({"rw": "read", "bssplit": "4k/60:64k/40,8k"}, (4096, 65536)),
        ({"rw": "read", "bssplit": "4k:64k"}, (4096, 65536)),
        ({"rw": "read", "bsrange": "1k-16k,4k-8k"}, (1024, 16384)),
        ({"rw": "read", "bs": "4k,64k", "bs_is_seq_rand": "1"}, (4096, 65536)),
        ({"rw": "write", "bs": "4k"}, ()),
        ({}, ()),
        ({"rw": "read", "bs": "4k", "read_iolog": "x"}, ()),
    ],
)
def test_the_blocks_that_ios_may_have(options, sizes):
    assert audit.block_sizes(options, "read") == sizes


def test_blocks_of_a_range_are_allowed_for_and_of_a_group_those_of_all_its_sections():
    options = {"rw": "read", "bssplit": "4k/50:64k/50"}
    assert holds(output(options=options, bytes=1000 * 30_000), "bytes") is True
    assert holds(output(options=options, bytes=1000 * 70_000), "bytes") is False
    assert holds(output(options={}), "bytes") is None
    grouped = {"rw": "read", "bs": "4k", "group_reporting": "1"}
    two = output(options=grouped, bytes=6_000_000, job={"run_ms": 2000})
    assert holds(two, "bytes") is None  # of an import the other section is not known
    job = "[global]\nrw=read\ngroup_reporting\n[j]\nbs=4k\n[k]\nbs=8k\n"
    assert holds(two, "bytes", job) is True
    assert holds(output(options=grouped, bytes=6_000_000, job={"run_ms": 1000}), "bytes") is False


def test_the_end_of_an_import_is_in_its_document():
    assert holds(output(), "end") is True
    assert holds(output(stamp=None), "end") is False
    assert holds(output(stamp=None), "end", "[j]\nrw=read\n") is True
    assert holds(replace(output(), interim=True), "end") is False


@pytest.mark.parametrize(
    ("logged", "expected"), [(100_000, True), (94_100, True), (93_900, False), (106_100, False)]
)
def test_logs_sum_up_to_the_json(logged, expected):
    found = audit.audit_logs({("read", "iops"): logged}, {("read", "iops"): 1e5}, {"read": 100.0})
    assert found.holds is expected
    assert audit.audit_logs({}, {("read", "iops"): 1}, {"read": 1.0}).holds is None


def test_the_line_says_which_figure_of_which_step():
    good = audit.audit_output(output(), {}, end_known=False)
    bad = audit.audit_output(output(bytes=1), {}, end_known=False)
    steps = [
        StepAudit(run_id="r", step_index=at, step=name, checks=checks)
        for at, (name, checks) in enumerate((("a", good), ("b", bad)))
    ]
    assert audit_line(steps[:1]) == "audit passed: bytes, end; not checked: rate, percentiles"
    assert audit_line(steps).startswith(
        "audit failed: bytes in step b: job j counts 1 bytes of read and 1,000 I/Os"
    )
    assert audit_line([]) == ""


def flagged(variation, n, *, cases=300):
    """The share of series of `n` runs with a variation that are flagged."""
    drawn = random.Random(n)
    series = ([drawn.gauss(1000, 1000 * variation) for _ in range(n)] for _ in range(cases))
    return sum((audit.least_variation(one) or 0) >= audit.LEAST_VARIATION for one in series) / cases


def test_runs_that_vary_by_a_sixth_or_fall_are_flagged_and_quiet_or_one_odd_of_many_are_not():
    assert all(flagged(0.02, n) <= 0.03 for n in (3, 10, 50, 215))
    assert all(flagged(0.15, n) >= 0.95 for n in (5, 10, 50))
    assert (audit.least_variation([3000.0] * 17 + [100.0] * 5) or 0.0) > 0.2
    assert (audit.least_variation([1000.0] * 29 + [100.0]) or 0.0) < audit.LEAST_VARIATION
