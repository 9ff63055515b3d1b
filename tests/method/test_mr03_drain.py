"""MR-3: `sustained` loads a disk 1.2 times as long as its credit lasts before it measures;
burst and baseline are told apart, and no mean spans a cliff."""

import io

import pytest
from rich.console import Console
from tests.rigs.plans import machine, planned_on
from tests.rigs.printed import print_result
from tests.rigs.synthetic import Noise, bucket
from tests.unit.report.made import plan, row

from diskbench.analysis.phases import step_phases
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.profiles import shipped_profile
from diskbench.model.facts import DiskFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.plan.trial import drain_s
from diskbench.providers.options import EmulationOptions
from diskbench.report.assemble.subject import subject_of_plan


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
