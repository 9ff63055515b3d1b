"""Latencies repeat with their seed; the protocol's structures are the kernel's."""

import itertools
import statistics
import struct
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.model.options import RentSpec
from diskbench.plan.rent_options import words
from diskbench.providers.lab import fuse_file
from diskbench.providers.lab.latency import LOADED_BYTES, Loading, draws
from diskbench.providers.options import EmulationOptions


def first(count: int, *, seed: int = 0, volume: str = "a", sigma: float = 0.5) -> list[float]:
    return list(itertools.islice(draws(seed, volume, 0.001, sigma), count))


def test_a_seed_gives_the_same_latencies_again_and_another_seed_or_disk_others():
    assert first(1000, seed=7) == first(1000, seed=7)
    assert first(10, seed=7) != first(10, seed=8)
    assert first(10, volume="a") != first(10, volume="b")


@given(st.integers())
def test_without_jitter_each_latency_is_the_median(seed):
    assert first(10, seed=seed, sigma=0) == [0.001] * 10


def test_with_jitter_they_are_lognormal_about_the_median():
    logs = [log(latency / 0.001) for latency in first(20_000, sigma=0.3)]
    # Four standard errors of the median and of the standard deviation of 20,000.
    assert statistics.median(logs) == pytest.approx(0, abs=4 * 1.2533 * 0.3 / 141)
    assert statistics.stdev(logs) == pytest.approx(0.3, abs=4 * 0.3 / 200)


def test_it_is_said_again_by_the_flags_that_said_it():
    spec = RentSpec(disk="gp2", lab=EmulationOptions(latency_ms=0.5, latency_jitter=0.2))
    assert words(spec, "lab") == ["--disk", "gp2", "--latency", "0.5", "--latency-jitter", "0.2"]


U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)


@given(unique=U64, offset=U64, size=U32)
def test_a_read_is_understood_as_the_kernel_writes_it(unique, offset, size):
    # struct fuse_in_header and fuse_read_in, member by member.
    head = struct.pack("<IIQQIIIHH", 80, 15, unique, 1, 0, 0, 99, 0, 0)
    request = memoryview(head + struct.pack("<QQIIQII", 0, offset, size, 0, 0, 0, 0))
    assert fuse_file.header(request) == (fuse_file.READ, unique)
    assert fuse_file.extent(request) == (offset, size)
    assert len(request) == fuse_file.WRITTEN


@given(offset=U64, length=U64, mode=U32)
def test_so_is_a_discard(offset, length, mode):
    head = struct.pack("<IIQQIIIHH", 72, 43, 2, 1, 0, 0, 99, 0, 0)
    request = memoryview(head + struct.pack("<QQQII", 0, offset, length, mode, 0))
    assert fuse_file.punched(request) == (offset, length, mode)


@given(unique=U64, size=st.integers(0, fuse_file.MAX_WRITE), error=st.integers(0, 511))
def test_an_answer_says_how_long_it_is_and_what_went_wrong(unique, size, error):
    head = struct.unpack("<IiQ", fuse_file.reply(unique, size, error))
    assert head == (16 + size, -error, unique)


@given(offered=U32)
def test_of_what_the_kernel_offers_only_what_is_needed_is_taken(offered):
    head = struct.pack("<IIQQIIIHH", 104, 26, 2, 0, 0, 0, 0, 0, 0)
    request = memoryview(head + struct.pack("<IIII", 7, 45, 131072, offered) + bytes(48))
    answer = struct.unpack_from("<IIIIHH", fuse_file.initiated(request))
    major, minor, _, taken, background, _ = answer
    assert (major, minor) == (7, 31)
    assert taken & ~offered == 0
    assert background >= 64


def test_the_answers_are_as_long_as_the_kernels_structures(tmp_path):
    # sizeof fuse_attr_out, fuse_open_out, fuse_statfs_out, fuse_init_out in linux/fuse.h.
    sizes = {"GETATTR": 104, "OPEN": 16, "STATFS": 80, "INIT": 64, "FLUSH": 0}
    request, status = memoryview(bytes(104)), tmp_path.stat()
    for name, size in sizes.items():
        head, body = fuse_file.without_io(getattr(fuse_file, name), 1, request, status)
        assert (len(head), len(body)) == (16, size)
    assert len(fuse_file.written(4096)) == 8  # fuse_write_out


def test_a_part_waits_until_it_was_loaded_and_never_again():
    loading = Loading(bytes_per_s=LOADED_BYTES)  # a part a second
    assert loading.read(0, 4096, 10.0) == 11.0
    assert loading.read(4096, 4096, 10.5) == 11.0, "the same part, on its way"
    assert loading.read(LOADED_BYTES - 1, 2, 10.5) == 12.0, "one part after another"
    assert loading.read(0, 2 * LOADED_BYTES, 20.0) == 20.0
