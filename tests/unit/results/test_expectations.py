"""What steps of a trial were promised: by its plan, by a hint, and by what was done before."""

from dataclasses import replace

import pytest
from tests.books import SHIPPED
from tests.rigs.runs import bare_run
from tests.unit.plan.planned import RANDOM, planned
from tests.unit.report.made import result, row

from diskbench.model.rental import DiskSpec
from diskbench.model.spec import Search, Step
from diskbench.model.threshold import Threshold
from diskbench.plan.limit_path import Hint
from diskbench.results.expectations import promises_of
from diskbench.results.run_evidence import StepEvidence
from diskbench.results.step_groups import groups_of
from diskbench.units import KIB, MIB, NS_PER_S

UNDATED = {"started_at": "", "finished_at": ""}
RUN = bare_run(run_id="a", run_index=0, started_at="2026-01-01T00:00:00Z", provider="ssh")


def step(index, role, options, iops, block, seconds):
    job = f"[{role}]\n{options}\ndirect=1\nbs={block}\n"
    made = Step(index=index, name=role, role=role, job=job, expected_s=1)
    direction = "write" if role == "fill" else "read"
    return did(made, iops, seconds, block, role=role, direction=direction), StepEvidence(made)


def did(step, iops, seconds, block=4096, **more):
    """The result of a step that did so many I/Os a second, in a row of it."""
    rates = {"iops": iops, "bytes_per_s": iops * block, "runtime_ns": seconds * NS_PER_S}
    totals = {"ios": round(iops * seconds), "bytes": round(iops * seconds * block)}
    return result(step, row(step.name, step_index=step.index, **rates, **totals, **more), **UNDATED)


def test_a_fill_before_a_measured_step_spends_its_credit():
    """128 MiB/s for 6,554 s are 512 I/Os of 256 KiB, 412 above the baseline: half of the bucket."""
    seconds = round(2_700_000 / 412)
    filled = step(0, "fill", "rw=write", 128, MIB, seconds)
    read = step(1, "measure", "rw=randread\nioengine=libaio\niodepth=32", 3000, 4 * KIB, 60)
    groups = groups_of([filled[0], read[0]], [filled[1], read[1]], (), None, "ssh")
    found = promises_of([(RUN, groups)], None, Hint(as_disk="aws:gp2:20"), SHIPPED)
    assert [one.is_judged for one in groups] == [False, True]
    assert found["a", 1].credit == {"disk-iops": pytest.approx(0.5, abs=0.01)}


def test_the_word_of_an_owner_is_counted_as_the_provider_of_the_run_counts():
    large = step(0, "measure", "rw=read", 90, MIB, 60)
    groups = groups_of([large[0]], [large[1]], (), None, "vsphere")
    run = replace(RUN, provider="vsphere")
    found = promises_of([(run, groups)], None, Hint(promise="iops=3200"), SHIPPED)
    assert found["a", 0].expected.begin.iops == 100


HOUR = RANDOM.replace("runtime=60", "runtime=3600")


def group(plan, run_id, iops, seconds, began, ended):
    step = plan.steps[0]
    done = did(step, iops, seconds, run_id=run_id)
    done = done.model_copy(update={"started_at": began, "finished_at": ended})
    return groups_of([done], [StepEvidence(step)], (), plan, "")[0]


@pytest.mark.parametrize(
    ("second", "iops", "promised"),
    [
        ("2026-01-01T01:00:00Z", 3000.0, [3000, 100]),
        ("2026-01-02T01:00:00Z", 3000.0, [3000, 3000]),  # 100 a second fill 5.4 million in 15 h
        ("2026-01-01T01:00:00Z", 400.0, [3000, 3000]),
    ],
    ids=["at once", "a day later", "served slower than promised"],
)
def test_a_run_after_an_hour_of_load_has_the_credit_that_is_left(second, iops, promised):
    plan = planned(HOUR, runs=2)
    times = [("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"), (second, second)]
    runs_of = [
        (bare_run(run_id=run_id, run_index=n), [group(plan, run_id, iops, 3600, *times[n])])
        for n, run_id in enumerate(plan.run_ids)
    ]
    found = promises_of(runs_of, plan, None, SHIPPED)
    assert [found[run_id, 0].expected.begin.iops for run_id in plan.run_ids] == promised


def test_a_probe_of_a_search_is_promised_the_rate_that_it_offered():
    text = RANDOM.replace("[a]", "[global]") + "[capacity]\n[probe-1]\nstonewall\n"
    text += "rate_iops=50% of capacity\n"
    plan = planned(text, disk=DiskSpec(type="gp3", size_gib=100))
    target = Threshold.parse("p99 < 10ms")
    search = Search(
        capacity="capacity", steps=("probe-1",), target=target, precision=0.02, beyond=100
    )
    plan = plan.model_copy(update={"search": search})
    offered = plan.steps[1].job.replace("50% of capacity", "2240")
    probe = plan.steps[1].model_copy(update={"job": offered})
    done = [did(plan.steps[0], 3000.0, 60), did(probe, 2237.0, 30)]
    groups = groups_of(done, list(map(StepEvidence, (plan.steps[0], probe))), (), plan, "")
    found = promises_of([(bare_run(run_id="a", run_index=0), groups)], plan, None, SHIPPED)
    assert [found["a", index].expected.begin.iops for index in (0, 1)] == [3000, 2240]


@pytest.mark.parametrize(
    ("day", "told"), [(None, "dated versions"), ("2018-03-16", "2018-03-16"), ("2026-03-16", "")]
)
def test_the_version_of_the_limits_is_named(day, told):
    plan = planned(RANDOM)
    made = group(plan, "a", 10_000.0, 60, "", "")
    run = replace(bare_run(run_id="a", run_index=0), measured_at=None)
    hint = Hint(as_disk="aws:gp2:6000", measured_on=day)
    chosen = promises_of([(run, [made])], None, hint, SHIPPED)["a", 0].chosen
    assert (told in chosen) if told else not chosen
    if day is None:
        assert "until 2018" in chosen, "10,000 IOPS were gp2's limit in 2018, and not today's"
