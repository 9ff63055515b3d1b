from tests.rigs.plans import RUN_IDS

from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.result import Measurement
from diskbench.providers.options import EmulationOptions
from diskbench.report.assemble.headline import headline, promised


def told(disk_type="gp2", size_gib=20, *, cloud="aws", time_scale=1.0, **disk):
    return promised(
        Rental(
            scope=Scope(provider="lab"),
            spec=RentSpec(lab=EmulationOptions(time_scale=time_scale)),
            cloud=cloud,
            offer="a machine",
            disk=DiskSpec(type=disk_type, size_gib=size_gib, **disk),
        )
    )


def row(iops, seconds=30.0, *, block=4096, role="measure", index=1, direction="read"):
    ios = int(iops * seconds)
    return Measurement(
        run_id=RUN_IDS[0], step_index=index, step=f"s{index}", role=role, scope="step", job="all",
        job_index=-1, direction=direction, ios=ios, bytes=ios * block,
        runtime_ns=int(seconds * 1e9), iops=iops, bytes_per_s=iops * block,
    )  # fmt: skip


def test_a_burst_that_was_not_used_up_says_nothing_of_the_baseline():
    assert (
        headline(told(), [row(3000)])
        == "burst of 3,000 IOPS; baseline not measured (promised: 100 IOPS)"
    )


def test_a_credit_that_ran_out_is_said_to_have_run_out():
    # 5.4 million credits last 1,862 s at 3,000 IOPS over a baseline of 100.
    steps = [row(3000, 1862), row(100, 300, index=2)]
    assert headline(told(), steps) == (
        "burst of 3,000 IOPS; credit used up in s1; baseline of at most 100 IOPS "
        "(promised: 100 IOPS)"
    )


def test_a_step_that_spans_the_cliff_is_given_no_one_figure():
    steps = [row(3000, 900), row(1132, 6000, index=2)]
    assert headline(told(), steps) == (
        "burst of 3,000 IOPS; credit used up in s2, whose figures mix burst and baseline "
        "(promised: 100 IOPS)"
    )
    assert headline(told(), steps[1:]) == (
        "credit used up in s2, whose figures mix burst and baseline (promised: 100 IOPS)"
    )


def test_a_scaled_credit_runs_out_sooner():
    assert "credit used up in s1" in headline(told(time_scale=100), [row(3000, 19)])
    assert "not measured" in headline(told(time_scale=100), [row(3000, 10)])


def test_filling_is_not_counted_and_a_large_request_counts_as_several():
    fill = row(128, 1862, block=2**20, role="fill", index=0)
    assert "not measured" in headline(told(), [fill, row(3000)])
    # 500 requests of 1 MiB are 2,000 of 256 KiB.
    assert headline(told(), [row(500, block=2**20)]).startswith("burst of 2,000 IOPS;")


def test_reads_and_writes_of_a_mix_spend_one_credit():
    mix = [row(2100, 1862), row(900, 1862, direction="write")]
    assert headline(told(), mix).startswith("burst of 3,000 IOPS; credit used up in s1")


def test_a_disk_without_a_bucket_or_below_its_baseline_has_no_headline():
    assert headline(told("io1", iops=400), [row(400)]) == ""
    assert headline(told(), [row(90)]) == ""
    assert headline(told("nothing of the kind"), [row(90)]) == ""
    assert headline(told(cloud=None), [row(90)]) == ""
