"""MR-1: what is read was written before, once on a network disk and twice on local NVMe, with data
that no disk can shrink; else the verdict is `unwritten`."""

import pytest
from tests.rigs.plans import make_plan, planned_on

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


def test_a_first_touch_reads_what_a_snapshot_holds_and_is_doubted_without_one():
    assert set(doubts(shipped("first-touch")).values()) == {"unwritten"}


def test_bonnie_reads_the_zeros_that_it_wrote_and_is_doubted_for_that():
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


def test_a_raw_disk_that_is_only_read_is_unwritten():
    (read,) = own(READ)
    assert doubts([read]) == {"read": "unwritten"}
    assert doubt_in(read).message == "none of the blocks that it reads had been written before"


def test_once_is_enough_on_a_network_disk_and_not_on_local_nvme():
    text = FILL.format(more="") + READ.replace("rw=", "stonewall\nrw=")
    assert doubts(own(text)) == {}
    assert doubts(own(text, LOCAL)) == {"read": "filled-once"}
    twice = FILL.format(more="loops=2") + READ.replace("rw=", "stonewall\nrw=")
    assert doubts(own(twice, LOCAL)) == {}


def test_a_fill_of_a_part_is_told_with_its_share():
    text = FILL.format(more="").replace("1g", "256m") + READ.replace("rw=", "stonewall\nrw=")
    assert doubts(own(text)) == {"read": "unwritten"}
    assert (
        doubt_in(own(text)[1]).message
        == "only 25% of the blocks that it reads had been written before"
    )


@pytest.mark.parametrize(
    "more", ["zero_buffers=1", "buffer_compress_percentage=50", "dedupe_percentage=90"]
)
def test_data_that_can_be_shrunk_are_told(more):
    text = FILL.format(more=more) + READ.replace("rw=", "stonewall\nrw=")
    assert doubts(own(text)) == {"read": "compressible"}


def test_how_much_a_timed_step_writes_is_not_known_and_does_not_count():
    text = FILL.format(more="time_based\nruntime=60") + READ.replace("rw=", "stonewall\nrw=")
    assert doubts(own(text)) == {"read": "unwritten"}


def test_files_are_laid_out_by_fio_before_they_are_read():
    assert doubts(planned(parse_profile(READ, name="mine"), filesystem="ext4").steps) == {}


def test_what_is_not_judged_has_no_share_and_no_doubt():
    assert [doubt_in(step) for step in make_plan().steps] == [None, None]
    (fill,) = own(FILL.format(more=""))
    assert fill.filled is None
