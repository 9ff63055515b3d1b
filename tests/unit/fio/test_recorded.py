"""What a step's unit records: fio's end, the clock, the page cache, canaries, and the log page of
an EBS volume, with how it is read on the host."""

import ctypes
import fcntl
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.fio import recorded
from diskbench.fio.declared import Case
from diskbench.fio.recorded import MAGIC, PAGE_BYTES, parse_exceeded
from diskbench.fio.reported import FioOutput
from diskbench.hosts import agent
from diskbench.model.facts import HostFacts
from diskbench.model.spec import Step


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
