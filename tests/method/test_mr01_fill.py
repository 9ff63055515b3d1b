"""MR-1, MR-2: what is read was written before; five rounds whose range and slope are narrow."""

import pytest
from tests.rigs.plans import make_plan, planned_on
from tests.rigs.synthetic import Noise, flat, settling, steps, with_stalls

from diskbench.analysis.phases import step_phases
from diskbench.fio.declared import Case
from diskbench.fio.estimate import fill_doubts
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.profiles import parse_profile, shipped_names, shipped_profile
from diskbench.fio.reported import FioOutput
from diskbench.model.facts import CpuFacts, DiskFacts, HostFacts

GIB = 2**30
NETWORK = DiskFacts(
    name="nvme1n1", path="/dev/nvme1n1", size_bytes=20 * GIB, transport="nvme",
    model="Amazon Elastic Block Store",
)  # fmt: skip
LOCAL = NETWORK.model_copy(update={"model": "Amazon EC2 NVMe Instance Storage"})
SHRINKS = ("zero_buffers", "buffer_compress_percentage", "dedupe_percentage", "buffer_pattern")


def planned(profile, disk=NETWORK, *, filesystem=None, size=4 * GIB):
    facts = HostFacts(
        cpu=CpuFacts(count=2), memory_bytes=GIB, fio_version="fio-3.33", disk=disk,
        fio_engines=("libaio", "psync", "sync", "filecreate", "filestat", "filedelete"),
    )  # fmt: skip
    return planned_on(profile, facts, filesystem=filesystem, size_bytes=size)


def own(text, disk=NETWORK):
    return planned(parse_profile(text, name="mine"), disk).steps


READ = "[read]\nrw=randread\nbs=4k\nsize=1g\ndirect=1\nioengine=libaio\n"
FILL = "[fill]\nrw=write\nbs=1m\nsize=1g\ndirect=1\nioengine=libaio\n{more}\n"


def doubt_in(step):
    output = FioOutput(where="x", version="fio-3.33", jobs=(), options={})
    return next(iter(fill_doubts(Case(step, (), output, HostFacts()))), None)


def doubts(steps):
    return {step.name: found.code for step in steps if (found := doubt_in(step))}


def shipped(name, disk=NETWORK):
    profile = shipped_profile(name)
    filesystem = "none" if "device" in profile.targets else None
    return planned(profile, disk, filesystem=filesystem, size=None).steps


@pytest.mark.parametrize("name", sorted({*shipped_names()} - {"bonnie", "first-touch"}))
def test_every_shipped_profile_writes_before_it_reads(name):
    assert doubts(shipped(name)) == {}


def test_a_first_touch_of_no_snapshot_is_doubted_and_bonnie_for_the_zeros_that_it_wrote():
    assert set(doubts(shipped("first-touch")).values()) == {"unwritten"}
    assert set(doubts(shipped("bonnie")).values()) == {"compressible"}


@pytest.mark.parametrize("name", ["quick", "default", "sustained", "burst", "fill"])
def test_the_fill_covers_what_is_measured_twice_on_local_nvme(name):
    for disk, loops in ((NETWORK, "1"), (LOCAL, "2")):
        fill = next(step for step in shipped(name, disk) if step.role == "fill")
        assert jobs(parse(fill.job))[0].get("loops") == loops


@pytest.mark.parametrize("name", sorted({*shipped_names()} - {"dd"}))  # dd is about zeros
def test_no_shipped_fill_writes_data_that_can_be_shrunk(name):
    for step in shipped(name):
        if step.role == "fill":
            (job,) = jobs(parse(step.job))
            assert [one for one in SHRINKS if job.get(one) is not None] == []
            assert job.get("refill_buffers") == "1"


THEN_READ = READ.replace("rw=", "stonewall\nrw=")


def test_a_raw_disk_that_is_only_read_is_unwritten_and_a_fill_of_a_part_told_with_its_share():
    (read,) = own(READ)
    assert doubts([read]) == {"read": "unwritten"}
    assert doubt_in(read).message == "none of the blocks that it reads had been written before"
    steps = own(FILL.format(more="").replace("1g", "256m") + THEN_READ)
    assert doubts(steps) == {"read": "unwritten"}
    assert (
        doubt_in(steps[1]).message == "only 25% of the blocks that it reads had been written before"
    )


@pytest.mark.parametrize(
    ("more", "disk", "doubt"),
    [
        ("", NETWORK, {}),
        ("", LOCAL, {"read": "filled-once"}),
        ("loops=2", LOCAL, {}),
        ("zero_buffers=1", NETWORK, {"read": "compressible"}),
        ("buffer_compress_percentage=50", NETWORK, {"read": "compressible"}),
        ("dedupe_percentage=90", NETWORK, {"read": "compressible"}),
        # How much a timed step writes is not known.
        ("time_based\nruntime=60", NETWORK, {"read": "unwritten"}),
    ],
)
def test_once_is_enough_on_a_network_disk_and_twice_on_local_nvme_with_data_that_cannot_be_shrunk(
    more, disk, doubt
):
    assert doubts(own(FILL.format(more=more) + THEN_READ, disk)) == doubt


def test_what_fio_lays_out_or_nobody_judges_has_no_share_and_no_doubt():
    assert [doubt_in(step) for step in make_plan().steps] == [None, None]
    (fill,) = own(FILL.format(more=""))
    assert fill.filled is None
    assert doubts(planned(parse_profile(READ, name="mine"), filesystem="ext4").steps) == {}


# SNIA SSS PTS 2.0.2, definition 2.1.24.
QUIET = Noise(sd=0.02)


def steadiness(values):
    return step_phases(values, values * 4096).steady


def test_below_five_minutes_nothing_is_said():
    short = steadiness(flat(100, 300, QUIET, seed=1))
    assert short.words() == "too short for five rounds of 60 s, so not judged"
    assert steadiness(flat(100, 301, QUIET, seed=1)).words() == "steady"


def test_past_a_cliff_a_step_is_steady_in_its_baseline_and_across_it_not_and_of_no_phase():
    series = steps([(3000, 600), (100, 400)], QUIET, seed=2)
    assert steadiness(series).words() == "steady (baseline)"
    found = steadiness(steps([(3000, 600), (100, 200)], QUIET, seed=3))
    assert found.words() == "not steady (its last five rounds of 60 s span phases)"
    assert found.kind is None


def test_a_disk_that_settles_is_steady_only_when_it_has_and_one_that_stalls_is_not():
    assert steadiness(settling(2500, 1000, 200, 400, QUIET, seed=4)).state == "not steady"
    assert steadiness(settling(2500, 1000, 200, 1800, QUIET, seed=4)).state == "steady"
    series = with_stalls(flat(100, 900, QUIET, seed=5), [(700, 760)])
    assert steadiness(series).state == "not steady"
