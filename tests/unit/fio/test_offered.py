"""Offered load: rates that depend on an earlier step (MR-11)."""

import pytest
from tests.rigs.plans import built
from tests.unit.report import made
from tests.unit.report.made import row

from diskbench.errors import MeasurementFailed, ProfileError
from diskbench.fio.declared import Case
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.offered import requested_iops, resolve, saturation_doubts, share_of, stand_in
from diskbench.fio.reported import FioOutput
from diskbench.fio.target import FioTarget
from diskbench.model.facts import HostFacts

TEXT = """[capacity]
rw=randread
size=1m
[offered]
stonewall
rw=randread
size=1m
numjobs=8
rate_process=poisson
rate_iops=75% of capacity
"""


def steps(text=TEXT):
    return built(text, FioTarget(kind="directory", path="/mnt/disk")).steps


def result(step, iops):
    one = row(step.name, iops=iops, ios=int(iops * 60), runtime_ns=60_000_000_000)
    return made.result(step, one, one.model_copy(update={"scope": "job"}))


def test_the_rate_is_a_share_of_what_the_earlier_step_reached_in_each_direction():
    capacity, offered = steps()
    assert (capacity.role, offered.role) == ("measure", "offered")
    resolved = resolve(offered, [result(capacity, 4000.0)])
    assert requested_iops(resolved.job) == 3000
    (job,) = jobs(parse(resolved.job))
    assert (job.get("numjobs"), job.get("rate_iops")) == ("8", "375")
    text = TEXT.replace("size=1m\nnumjobs", "rw=randrw\nrwmixread=70\nsize=1m\nnumjobs")
    capacity, offered = steps(text)
    resolved = resolve(offered, [result(capacity, 4000.0)])
    (job,) = jobs(parse(resolved.job))
    assert job.get("rate_iops") == "262,113"
    assert requested_iops(resolved.job) == 3000


def test_of_several_rounds_the_last_counts_and_a_slow_disk_gets_fewer_workers():
    capacity, offered = steps()
    finished = [result(capacity, 4000.0), result(capacity, 400.0)]
    assert requested_iops(resolve(offered, finished).job) == pytest.approx(300, rel=0.03)
    resolved = resolve(offered, [result(capacity, 100.0)])
    assert requested_iops(resolved.job) == pytest.approx(75, rel=0.025)


def test_a_reference_to_a_step_that_is_missing_later_or_reached_nothing_fails_by_name():
    capacity, offered = steps()
    with pytest.raises(MeasurementFailed, match="'capacity'"):
        resolve(offered, [result(capacity, 0.0)])
    with pytest.raises(ProfileError, match="'later'"):
        steps("[a]\nrw=read\nsize=1m\nrate_iops=5% of later\n[later]\nstonewall\nrw=read\nsize=1\n")


def saturated(step, found):
    output = FioOutput(where="x", version="fio-3.33", jobs=(), options={})
    case = Case(step, found.measurements, output, HostFacts())
    return next(iter(saturation_doubts(case)), None)


@pytest.mark.parametrize(
    ("achieved", "verdict"), [(3000.0, False), (2971.0, False), (2969.0, True), (1500.0, True)]
)
def test_less_than_99_percent_of_the_offered_load_is_saturated(achieved, verdict):
    capacity, offered = steps()
    resolved = resolve(offered, [result(capacity, 4000.0)])
    told = saturated(resolved, result(resolved, achieved))
    assert (told is not None) is verdict
    if told:
        assert told.code == "saturated"
        assert f"{achieved:,.0f} of 3,000" in told.message


@pytest.mark.parametrize(("ran_s", "is_saturated"), [(20.3, False), (20.0, True)])
def test_the_wait_for_an_arrival_that_came_too_late_is_no_load_that_was_not_served(
    ran_s, is_saturated
):
    capacity, offered = steps(TEXT + "time_based\nruntime=20\n")
    resolved = resolve(offered, [result(capacity, 4000.0)])
    served = 3000 * 0.989  # by fio's run time
    rows = [row(resolved.name, iops=served, ios=round(served * ran_s), runtime_ns=ran_s * 1e9)]
    told = saturated(resolved, made.result(resolved, *rows))
    assert (told is not None) is is_saturated


def test_neither_chance_on_a_slow_disk_nor_a_closed_loop_is_called_saturated():
    capacity, offered = steps()
    resolved = resolve(offered, [result(capacity, 100.0)])
    assert saturated(resolved, result(resolved, 73.5)) is None
    assert saturated(resolved, result(resolved, 70.0)) is not None
    assert saturated(capacity, result(capacity, 1.0)) is None


def test_the_notation_is_a_percentage_of_a_step_and_without_it_a_step_stays_as_it_is():
    assert share_of("75% of capacity") == (0.75, "capacity")
    assert share_of("12.5 % of a b") == (0.125, "a b")
    assert share_of("3000") is None
    assert share_of(None) is None
    capacity, _ = steps()
    assert resolve(capacity, []) is capacity
    assert stand_in(capacity) is capacity
