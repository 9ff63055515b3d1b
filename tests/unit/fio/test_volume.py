"""The log page of an EBS volume, and how it is read on the host."""

from __future__ import annotations

import ctypes
import fcntl
import io
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.fio.recorded import MAGIC, PAGE_BYTES, parse_exceeded
from diskbench.hosts import agent

COUNTERS = st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4)


def page(times: list[int], *, magic: int = MAGIC) -> bytes:
    """A page as Amazon documents it: magic, six counters of work, four times in µs, the queue."""
    head = struct.pack("<I4x11Q", magic, *range(1, 7), *times, 3)
    return head + bytes(PAGE_BYTES - len(head))


def line(when: str, data: bytes, number: str = "259:1") -> bytes:
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


@given(st.binary(max_size=200))
def test_whatever_a_host_writes_is_no_error(data):
    parse_exceeded(data)
    parse_exceeded(GOOD + b"after 259:1 " + data)


@pytest.fixture
def kernel(monkeypatch, tmp_path) -> None:
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

    def ioctl(disk: io.FileIO, request: int, command: bytearray) -> int:
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


@pytest.mark.usefixtures("kernel")
def test_a_disk_that_gives_no_page_is_left_out():
    """A plain file stands for the disk: it knows no such request."""
    assert list(agent.volume_pages("before", ["259:1", "0:0", "nonsense"])) == []
