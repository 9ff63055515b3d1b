"""MR-3: when a burst bucket is empty, at what rate it goes on, and how `sustained` drains it."""

import io

import pytest
from rich.console import Console
from tests.books import SHIPPED
from tests.rigs.plans import machine, planned_on
from tests.rigs.printed import print_result
from tests.rigs.synthetic import Noise, bucket
from tests.unit.report.made import plan, row

from diskbench.analysis.phases import step_phases
from diskbench.catalog.expect import Stage, expect_on, path_of, simulate
from diskbench.catalog.lookup import limits
from diskbench.catalog.machine import capped, machine_of
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.profiles import shipped_profile
from diskbench.model.expectation import Load
from diskbench.model.facts import DiskFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.plan.trial import drain_s
from diskbench.providers.options import EmulationOptions
from diskbench.report.assemble.subject import subject_of_plan
from diskbench.units import KIB, MIB

RANDOM_4K = Load(block_bytes=4 * KIB, depth=32)
STREAM_1M = Load(block_bytes=MIB, depth=8, random=False)
C4_XLARGE = machine_of(SHIPPED, "aws", "c4.xlarge", "gp2")

# GoBonnieGo on a c4.xlarge: 15 GiB in blocks of 64 KiB written, then read, then 512-byte I/O.
MOVED = 15.68e9
WRITTEN = Load(block_bytes=64 * KIB, read_share=0, random=False, direct=False)
READ = Load(block_bytes=64 * KIB, random=False, direct=False)
SOUGHT = Load(block_bytes=512, read_share=0.9, direct=False)
PHASES = ("write", "read", "random")


def at_rate(load, mb_per_s):
    return load.model_copy(update={"max_per_s": mb_per_s * 1e6 / load.block_bytes})


def gobonniego(seconds, *, as_measured=False):
    """One run; `as_measured` above the machine's own limit, as the post's page cache let it."""
    written = at_rate(WRITTEN, 102.6) if as_measured else WRITTEN
    read = at_rate(READ, 92.3) if as_measured else READ
    return (Stage(written, bytes=MOVED), Stage(read, bytes=MOVED), Stage(SOUGHT, seconds=seconds))


def expected(path, load):
    found = expect_on(path, load)
    assert found is not None
    return found


def collapse(course):
    """The run, from 1, and its phase, in which the disk's credit was gone."""
    found = first_empty(course)
    return found.stage // len(PHASES) + 1, PHASES[found.stage % len(PHASES)]


def first_empty(course):
    found = course.first_empty(0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("size_gib", "seconds", "runs", "fell", "at_s", "within"),
    [
        # "Amazon's performance collapsed on the thirty-fourth run", "after 3 hours": 256 KiB a
        # write, 128 KiB a read (read-ahead), at the rates that were measured.
        (20, 5, 60, (34, "read"), 11_005, 0.01),
        # GoBonnieGo 1.0.9: run 17 was throttled in part, run 18 wholly.
        (20, 60, 30, (17, "random"), 6_498, 0.01),
        # Seen at run 78, 29,275 to 29,655 s: 6 % before what is predicted.
        (256, 60, 100, (82, "random"), 29_465, 0.07),
    ],
)
def test_a_gp2_of_a_post_collapses_in_the_run_and_at_the_time_that_it_did(
    size_gib, seconds, runs, fell, at_s, within
):
    path = path_of(limits("aws", "gp2", size_gib))
    course = simulate(path, gobonniego(seconds, as_measured=True) * runs)
    assert collapse(course) == fell
    assert first_empty(course).end_s == pytest.approx(at_s, rel=within)


def test_the_catalogue_alone_says_the_34th_run_too():
    """With the limits of the c4.xlarge for rates: nothing of the measurement is put in."""
    course = simulate(path_of(limits("aws", "gp2", 20), C4_XLARGE), gobonniego(5) * 60)
    assert collapse(course)[0] == 34
    assert first_empty(course).end_s == pytest.approx(3 * 3600, rel=0.1)


def test_the_request_size_decides_and_the_range_is_told():
    """All requests of 128 KiB: run 25; all of 256 KiB: run 54."""
    path = path_of(limits("aws", "gp2", 20))
    runs = gobonniego(5, as_measured=True) * 60
    assert collapse(simulate(path, runs, case="least"))[0] == 25
    assert collapse(simulate(path, runs, case="best"))[0] == 54


def test_after_the_collapse_the_stream_is_as_slow_as_it_was():
    """108 IOPS, 28.2 MB/s written and 13 MB/s read were seen; 100 IOPS are promised."""
    disk = limits("aws", "gp2", 20)
    for load, seen in ((WRITTEN, 28.2e6), (READ, 13.2e6)):
        lasting = expected(path_of(disk, C4_XLARGE), load).lasting
        assert lasting.bytes_per_s == pytest.approx(seen * 100 / 108, rel=0.08)


def test_azure_credit_lasts_half_an_hour_in_operations_and_in_bytes():
    disk = limits("azure", "Premium_LRS", 32)
    for load, begin, lasting in ((RANDOM_4K, 3500, 120), (STREAM_1M, 170e6 / MIB, 25e6 / MIB)):
        found = expected(path_of(disk), load)
        assert (found.begin.iops, found.lasting.iops) == pytest.approx((begin, lasting))
        assert found.lasts_s == pytest.approx(1800)


def test_the_two_buckets_of_an_azure_disk_are_spent_apart():
    """Small requests leave the credit of bytes alone, and a stream then finds no credit of I/Os:
    120 of 256 KiB each."""
    path = path_of(limits("azure", "Premium_LRS", 32))
    course = simulate(path, [Stage(RANDOM_4K, seconds=1800), Stage(STREAM_1M, seconds=600)])
    assert first_empty(course).end_s == pytest.approx(1800)
    assert course.credit[1][1] == path.gates[1].capacity
    (stream,) = course.of_stage(1)
    assert stream.bytes_per_s == pytest.approx(120 * 256 * KIB)
    assert stream.limited_by == "disk-iops"


def test_an_ebs_burst_instance_falls_before_its_disk_does():
    """m5.large: 3,600 of at most 18,750 IOPS last; its half hour ends while a gp3 goes on."""
    machine = machine_of(SHIPPED, "aws", "m5.large", "gp3")
    baseline = machine.gates[0].allowance.baseline
    disk = limits("aws", "gp3", 500, iops=16_000, throughput=1000)
    found = expected(path_of(disk, machine), RANDOM_4K)
    assert (found.begin.iops, found.begin.limited_by) == (16_000, "disk-iops")
    assert (found.lasting.iops, found.lasting.limited_by) == (baseline, "vm-iops")
    most = machine.gates[0].allowance.ceiling
    assert found.lasts_s == pytest.approx((most - baseline) * 1800 / (16_000 - baseline))


def test_the_burst_of_an_instance_comes_back_once_a_day():
    machine = machine_of(SHIPPED, "aws", "m5.large", "gp3")
    path = path_of(limits("aws", "gp3", 500, iops=16_000, throughput=1000), machine)
    spent = [Stage(RANDOM_4K, seconds=3600)]
    rested = simulate(path, [*spent, Stage(None, seconds=12 * 3600)])
    assert rested.left[2] == pytest.approx(path.gates[2].capacity / 2)
    a_day = simulate(path, [*spent, Stage(None, seconds=24 * 3600)])
    assert a_day.left[2] == path.gates[2].capacity


def test_disk_and_machine_have_buckets_of_their_own():
    """While the machine holds a gp2 to 500 IOPS its credit lasts longer, and goes all the same."""
    disk, slow = limits("aws", "gp2", 20), capped(500, None, "a test")
    found = expected(path_of(disk, slow), RANDOM_4K)
    assert (found.begin.iops, found.begin.limited_by) == (500, "vm-iops")
    assert found.lasts_s == pytest.approx(5_400_000 / (500 - 100))
    assert (found.lasting.iops, found.lasting.limited_by) == (100, "disk-iops")


def rental(cloud, type_, size, scale=1.0):
    spec, disk = (
        RentSpec(lab=EmulationOptions(time_scale=scale)),
        DiskSpec(type=type_, size_gib=size),
    )
    return Rental(scope=Scope(provider=cloud), spec=spec, offer="x", disk=disk)


@pytest.mark.parametrize(
    ("cloud", "type_", "size", "seconds"),
    [
        ("aws", "gp2", 20, 2235),  # 1.2 · 5.4 M / (3,000 − 100) = 1.2 · 1,862 s
        ("aws", "gp2", 500, 4320),
        ("azure", "Premium_LRS", 32, 2160),
        ("aws", "gp3", 20, None),
        ("vsphere", "thin", 20, None),
    ],
)
def test_it_is_a_fifth_longer_than_the_bucket_lasts(cloud, type_, size, seconds):
    assert drain_s(rental(cloud, type_, size)) == seconds


def drained(rented):
    disk = DiskFacts(name="x", path="/dev/x", size_bytes=20 * 2**30)
    fio = {"fio_version": "fio-3.33", "fio_engines": ("libaio",)}
    facts = machine(2, memory_bytes=2**30, disk=disk, **fio)
    plan = planned_on(shipped_profile("sustained"), facts, rental=rented)
    drain = next(step for step in plan.steps if step.name == "drain")
    return jobs(parse(drain.job))[0].get("runtime")


def test_the_profile_drains_so_long_scaled_and_as_a_gp2_of_20_gib_where_nothing_is_known():
    assert drain_s(rental("aws", "gp2", 20, scale=10)) == 224
    assert drained(rental("aws", "gp2", 500)) == "4320"
    assert drained(None) == "2235"


STEP = "rand-read-4k-qd32"


def shown(phases=()):
    """The result of a step of 50 minutes whose credit is gone after 31."""
    mean = (3000 * 1862 + 100 * 1138) / 3000
    console = Console(file=io.StringIO(), width=100)
    measured = [row(step=STEP, iops=mean)]
    print_result(subject_of_plan(plan()), measured, (), phases, console=console)
    return console.file.getvalue()


def course():
    values = bucket(5_400_000, 3000, 100, 3000, Noise(sd=0.0), seed=1)
    named = {"step": STEP, "run_id": "01trial-run0"}
    return step_phases(values, values * 4096).model_copy(update=named)


def test_the_mean_across_a_cliff_is_not_shown_and_both_levels_are():
    assert "1,900" in shown()
    told = shown([course()])
    assert "1,900" not in told
    assert f"{STEP} (baseline)" in told
    assert f"burst of 3,000 IOPS for 31:02 in {STEP}, then a baseline of 100 IOPS" in told
    assert "steady (baseline)" in told
