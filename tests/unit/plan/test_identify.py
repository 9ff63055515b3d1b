"""The disk of the catalogue that a measured one behaves as is named, and none where none does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.books import SHIPPED

from diskbench.catalog.expect import Stage, expect_on, path_of
from diskbench.catalog.lookup import dated_limits
from diskbench.catalog.machine import machine_of
from diskbench.model.expectation import Load
from diskbench.plan.identify import Level, by_type, identify, like, type_words
from diskbench.units import MIB

RANDOM = Load(block_bytes=4096, depth=256)
RANDOM_WRITES = RANDOM.model_copy(update={"read_share": 0.0})
LARGE = Load(block_bytes=1 << 20, random=False, depth=64)
LARGE_WRITES = LARGE.model_copy(update={"read_share": 0.0})
LOADS = {"random": RANDOM, "large": LARGE, "large-writes": LARGE_WRITES}
DISKS = [
    ("aws", "gp2", 20), ("aws", "gp2", 123), ("aws", "gp2", 500), ("aws", "gp3", 100),
    ("aws", "st1", 1024), ("aws", "sc1", 2048), ("azure", "Standard_LRS", 8192),
    ("azure", "StandardSSD_LRS", 1024), ("azure", "Premium_LRS", 64),
    ("azure", "Premium_LRS", 128), ("azure", "Premium_LRS", 256), ("azure", "Premium_LRS", 1024),
    ("azure", "PremiumV2_LRS", 100), ("gcp", "pd-standard", 500), ("gcp", "pd-balanced", 200),
    ("gcp", "pd-ssd", 256),
]  # fmt: skip


def measured(cloud, disk_type, size, *, off=0.01):
    """The levels of a disk after its credit, 1 % off, with the fall of its random reads."""
    path = path_of(dated_limits(cloud, disk_type, size, day="2026-11-23")[0])
    levels = []
    for name, load in LOADS.items():
        expected = expect_on(path, load)
        fell = expected.bursts and expected.lasts_s
        begin = expected.begin.iops * (1 - off) if fell else None
        after_s = expected.lasts_s * (1 + off) if fell else None
        levels.append(Level(name, load, expected.lasting.iops * (1 - off), begin, after_s))
    return levels


@pytest.mark.parametrize(("cloud", "disk_type", "size"), DISKS)
def test_the_right_type_comes_first(cloud, disk_type, size):
    first = identify(measured(cloud, disk_type, size), day="2026-11-23")[0]
    assert first.disk.split(":")[:2] == [cloud, disk_type], first


def test_a_standard_disk_that_is_a_premium_one_is_known_by_the_limits_of_its_day():
    random = Load(block_bytes=512, read_share=0.9, direct=False)
    reads = Load(block_bytes=65536, random=False, direct=False)
    writes = reads.model_copy(update={"read_share": 0.0})
    levels = [Level("iops", random, 121), Level("read", reads, 15.7e6 / 65536)]
    levels.append(Level("write", writes, 25.2e6 / 65536))
    found = identify(levels, day="2018-03-16")
    whole = {fit.disk for fit in found if len(fit.fits) == 3 and not fit.misses}
    # Zone-redundant disks have the same limits; since when they are sold is not in the catalogue.
    of_premium = {"azure:Premium_LRS", "azure:Premium_ZRS"}
    assert {disk.rpartition(":")[0] for disk in whole} == of_premium
    assert "azure:Premium_LRS:32" in whole
    assert found[0].disk in whole


def test_a_fall_tells_the_size_and_its_arithmetic():
    (first, *_) = identify([Level("reads", RANDOM, 369, fell_from=3000, after_s=2058)])
    assert first.disk == "aws:gp2:123"
    assert "34 min 18 s, expected after 34 min 12 s" in first.fits[1]


def test_credit_of_a_pause_is_not_another_disk_and_a_new_one_without_a_burst_has_no_bucket():
    """A gp2 of 20 GiB without credit does 130 IOPS for 15 s after a pause of 4.5 s."""
    reads = Level("reads", RANDOM, 100, 3000, 20.0, mean_iops=1380, seconds=45.0)
    writes = Level("writes", RANDOM_WRITES, 130, mean_iops=130, seconds=15.0, idle_s=4.5)
    (first, *_) = identify([reads, writes], time_scale=93.1, is_fresh=True)
    assert first.disk.startswith("aws:gp2:")
    assert (len(first.fits), len(first.misses)) == (3, 0)
    levels = [Level("reads", RANDOM, 400, mean_iops=400, seconds=45.0)]
    levels.append(Level("writes", RANDOM_WRITES, 398, mean_iops=398, seconds=30.0))
    assert any(":gp2:" in fit.disk for fit in identify(levels))
    assert not any(":gp2:" in fit.disk for fit in identify(levels, is_fresh=True))


def test_figures_that_are_bought_are_tried_as_they_were_measured():
    levels = [
        Level("reads", RANDOM, 4190), Level("writes", RANDOM_WRITES, 4210),
        Level("large", LARGE, 301), Level("large-writes", LARGE_WRITES, 299),
    ]  # fmt: skip
    found = identify(levels)
    assert "aws:gp3" in {":".join(fit.disk.split(":")[:2]) for fit in found[:4]}
    assert "iops=4" in next(fit for fit in found if fit.disk.startswith("aws:gp3:")).disk
    assert not any("iops=" in fit.disk for fit in identify(levels, fits_bought=False))


def test_no_or_one_figure_or_a_poor_match_identifies_nothing_also_where_a_size_would_be_made_up():
    assert identify([]) == identify([Level("reads", RANDOM, 777)]) == ()
    assert identify([Level("reads", RANDOM, 3000)]) == ()
    assert identify([Level("reads", RANDOM, 777), Level("large", LARGE, 333)], books=SHIPPED) == ()


def test_a_type_is_one_line_with_its_sizes_and_its_promise():
    types = by_type(identify(measured("aws", "gp2", 20), day="2026-11-23"))
    words = "aws:gp2 of 1 to 33 GiB: 100 IOPS, bursts to 3,000 for 31 min 02 s; 134 MB/s"
    assert type_words(types[0]) == words
    assert len(types) <= 5
    assert [one[0].off for one in types] == sorted(one[0].off for one in types)


def test_one_io_at_a_time_need_not_reach_a_limit():
    single = RANDOM.model_copy(update={"depth": 1})
    levels = [*measured("aws", "gp3", 100), Level("latency", single, 1450)]
    first = identify(levels, day="2026-11-23")[0]
    assert first.disk.startswith("aws:gp3")
    assert not first.misses


def test_the_limits_of_a_machine_are_a_candidate():
    """3,600 IOPS and 81.2 MB/s are what an m5.large keeps towards its disks."""
    levels = [Level("reads", RANDOM, 3600), Level("large", LARGE, 81.2e6 / 2**20)]
    types = by_type(identify(levels, cloud="aws", books=SHIPPED))
    assert types[0][0].disk.startswith("aws:machine:")
    known = machine_of(SHIPPED, "aws", "m5.large", "gp3")
    fits = identify(levels, cloud="aws", books=SHIPPED, machine=known, fits_bought=False)
    assert not any(":machine:" in fit.disk for fit in fits)


def test_a_fall_between_runs_counts_with_what_was_done_before():
    """Runs of a minute at 3,000 IOPS, each after a minute at 50: the credit ends in run 32."""
    light = RANDOM.model_copy(update={"max_per_s": 50.0})
    full = RANDOM.model_copy(update={"max_per_s": 3000.0})
    earlier = (Stage(light, seconds=60), Stage(full, seconds=60)) * 31
    level = Level("reads", RANDOM, 100, fell_from=3000, after_s=3780, earlier=earlier, slack_s=120)
    (first, *_) = identify([level], cloud="aws")
    assert first.disk.startswith("aws:gp2:")
    assert "fell after 1 h 03 min" in first.fits[1]


@pytest.mark.parametrize(
    ("before", "after", "spent", "name"),
    [
        (3001, 99.5, 5_402_059, "aws:gp2:33"),
        (3029, 101.2, 5_399_782, "aws:gp2:33"),  # one per cent above its limits: of the floor still
        (3000, 768, 5.4e6, "aws:gp2:256"),
        (3500, 500, 5.4e6, "azure:Premium_LRS:128"),
    ],
)
def test_a_bucket_names_its_disk(before, after, spent, name):
    assert name in like(before, after, spent)


def test_a_fall_like_no_bucket_also_of_a_drive_that_wrote_its_cache_full_names_none():
    assert like(3000, 1000, 1e6) == ()
    assert like(2.9e9, 0.94e9, 5.7e11, counts="bytes") == ()


@given(gib=st.integers(34, 900))
def test_every_size_of_gp2_that_bursts_is_recognised(gib):
    assert f"aws:gp2:{gib}" in like(3000, 3 * gib, 5.4e6)


@pytest.mark.parametrize(("before", "after", "name"), [(250, 40, "st1"), (80, 12, "sc1")])
def test_a_bucket_of_throughput_names_its_disk(before, after, name):
    assert f"aws:{name}:1024" in like(before * MIB, after * MIB, MIB * MIB, counts="bytes")
