"""MR-10, MR-11: percentiles of summed counts; latency at 25, 50, 75 and 90 % of the capacity."""

import io
import random

import pytest
from rich.console import Console
from tests.lab.conftest import Lab, ssh
from tests.lab.conftest import lab as lab
from tests.rigs.fio_reports import bucket_index
from tests.rigs.printed import print_result
from tests.unit.report.made import plan, result, row

from diskbench.fio.histogram import bucket_middle_ns, merge, value_at
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.offered import requested_iops, resolve
from diskbench.fio.output import parse_output
from diskbench.fio.profiles import shipped_profile
from diskbench.fio.rows import measurements
from diskbench.fio.steps import build_steps
from diskbench.fio.target import FioTarget
from diskbench.model.facts import HostFacts
from diskbench.model.rental import DiskSpec
from diskbench.model.spec import Step
from diskbench.providers.lab.request import LabRequest
from diskbench.report.assemble.subject import subject_of_plan

SHARES = {"offered-25": 0.25, "offered-50": 0.5, "offered-75": 0.75, "offered-90": 0.9}
REACHED = 8000.0


def shipped(fio):
    profile = shipped_profile("offered-load")
    facts = HostFacts(fio_version=fio, fio_engines=("libaio", "psync"))
    target = FioTarget(kind="directory", path="/mnt", size_bytes=2**30)
    steps = build_steps(profile, {}, facts, target).steps
    return {step.name: step for step in steps}


def reached(step, iops):
    return result(step, row(step.name, iops=iops, ios=10**6, runtime_ns=60 * 10**9))


@pytest.mark.parametrize("fio", ["fio-3.33", "fio-3.42"])
def test_four_shares_of_the_rate_reached_are_offered_as_poisson_arrivals(fio):
    steps = shipped(fio)
    capacity = reached(steps["capacity"], REACHED)
    for name, share in SHARES.items():
        step = resolve(steps[name], [capacity])
        assert step.role == "offered"
        assert requested_iops(step.job) == pytest.approx(share * REACHED, rel=0.025)
        for job in jobs(parse(step.job)):
            assert job.get("rate_process") == "poisson"
            assert job.get("ioengine") == "psync", "offloading cannot be relied on with async ones"


def test_submission_is_offloaded_where_fio_can_and_dealt_out_where_it_hangs():
    (new,) = jobs(parse(shipped("fio-3.42")["offered-50"].job))
    assert new.get("io_submit_mode") == "offload"
    (old,) = jobs(parse(shipped("fio-3.33")["offered-50"].job))
    assert (old.get("io_submit_mode"), old.get("numjobs")) == (None, "64")


@pytest.mark.parametrize(
    ("role", "told"),
    [
        ("measure", "latency is at full load;"),
        ("offered", "latency of offered steps is at a fixed arrival rate"),
    ],
)
def test_a_latency_says_beside_it_how_the_load_came(role, told):
    console = Console(file=io.StringIO(), width=100)
    measured = [row(step="read", role=role)]
    print_result(subject_of_plan(plan()), measured, (), console=console)
    assert told in console.file.getvalue()


STALLS = LabRequest(disk=DiskSpec(type="gp2", size_gib=1), stall_every_s=2, stall_for_s=0.5, seed=1)
CLOSED = "--rw=randread --bs=4k --iodepth=1 --time_based --runtime=6"
OPEN = "--numjobs=40 --rate_iops=20 --rate_process=poisson"


def p99_ms(host, name, options):
    said = ssh(
        host,
        f"fio --name={name} --filename={host.device} --direct=1 --ioengine=psync --thread "
        f"--lat_percentiles=1 --output-format=json+ {options}",
    )
    step = Step(index=0, name=name, job=f"[{name}]\nrw=randread\n", expected_s=6.0)
    output = parse_output(said.encode(), where=name)
    (merged,) = [m for m in measurements(output, run_id="r", step=step) if m.scope == "step"]
    return merged.p99_ns / 1e6


@pytest.mark.slow
def test_a_stall_is_seen_by_arrivals_and_hidden_by_a_closed_loop(lab: Lab):
    """Every two seconds this disk stalls for half a second: one in a thousand operations of a
    closed loop is late, and a good part of those that come when they want."""
    host = lab.machines.acquire("one", STALLS)
    closed = p99_ms(host, "closed", CLOSED)
    offered = p99_ms(host, "open", f"{CLOSED} {OPEN}")
    assert offered > 200
    assert offered >= 4 * closed  # on a quiet machine a hundred times


def counted(values):
    found = {}
    for value in values:
        middle = bucket_middle_ns(bucket_index(value))
        found[middle] = found.get(middle, 0) + 1
    return found


def job(seed, count, median_ns):
    draw = random.Random(seed)
    return [int(median_ns * draw.lognormvariate(0, 0.7)) for _ in range(count)]


def test_merged_jobs_have_the_quantiles_of_all_their_ios_which_no_mean_of_quantiles_is():
    fast, slow = job(1, 9000, 200_000), job(2, 1000, 9_000_000)
    merged = merge([counted(fast), counted(slow)])
    for fraction in (0.5, 0.9, 0.99, 0.999):
        exact = sorted(fast + slow)[int(fraction * 10_000 - 1e-9)]
        assert value_at(merged, fraction) == pytest.approx(exact, rel=1 / 128 + 1e-3)
    mean = (value_at(counted(fast), 0.9) + value_at(counted(slow), 0.9)) / 2
    assert mean > 2 * value_at(merged, 0.9)
