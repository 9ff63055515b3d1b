"""What runs and replicates say of a step together; device and fio counts of its I/Os (MR-12)."""

from dataclasses import replace

import pytest
from tests.rigs.runs import bare_run
from tests.unit.report import made, reported
from tests.unit.report.made import result
from tests.unit.report.reported import judged

from diskbench.model.expectation import Load
from diskbench.model.processor import MachineUse
from diskbench.model.spec import Step
from diskbench.results.run_evidence import StepEvidence
from diskbench.results.step_case import counted_otherwise
from diskbench.results.step_groups import groups_of
from diskbench.results.step_verdicts import over_runs


def row(run_id, *, trial=None, index=0, lease=None):
    return bare_run(
        run_id=run_id, trial_id=trial or f"trial of {run_id}", run_index=index,
        measured_at=f"2026-11-21T00:00:{index:02}", machine_lease=lease, imported=False,
        provider="aws",
    )  # fmt: skip


def verdict(run_id, iops, *, limit="disk-iops", trust="yes", kind=None):
    level = judged(iops, 3000, limiter=limit, kind=kind)
    return reported.verdict(level, run_id=run_id, trust=trust)


def test_six_machines_have_an_interval_and_five_have_none():
    figures = [2900, 2950, 3000, 3010, 3020, 3050]
    rows = [row(f"{n}") for n in range(6)]
    verdicts = [verdict(f"{n}", value) for n, value in enumerate(figures)]
    (six,) = over_runs(rows, verdicts)
    (five,) = over_runs(rows[:5], verdicts[:5])
    assert (six.replicated.interval.low, six.replicated.interval.high) == (2900, 3050)
    assert six.interval.low == pytest.approx(2900 / 3000)
    assert (five.replicated.interval, five.interval) == (None, None)
    assert "no interval of 5 machines" in five.sentence


def test_runs_of_one_trial_and_trials_of_one_machine_are_one_sample():
    rows = [row("a", trial="t"), row("b", trial="t", index=1)]
    rows += [row("c", lease="machine"), row("d", lease="machine")]
    (found,) = over_runs(rows, [verdict(one, 3000) for one in "abcd"])
    assert (found.replicated.trials, found.replicated.machines) == (3, 2)


def test_the_figure_of_a_trial_that_fell_is_its_baseline():
    rows = [row(f"{n}", trial="t", index=n) for n in range(6)]
    told = [verdict(f"{n}", 3000, kind="burst") for n in range(4)]
    told += [verdict(f"{n}", 100, kind="baseline", limit="credit") for n in (4, 5)]
    (found,) = over_runs(rows, told)
    assert found.replicated.median == 100
    assert found.limiter.name == "credit"
    levels = [(one.kind, one.first, one.last, one.iops) for one in found.levels]
    assert levels == [("burst", 1, 4, 3000), ("baseline", 5, 6, 100)]
    assert "runs 1–4 (burst)" in found.sentence


def test_the_trust_and_the_limit_of_most_runs_stand_for_all():
    told = [verdict("a", 3000), verdict("b", 2990), verdict("c", 20, limit="client", trust="no")]
    (found,) = over_runs([row(one) for one in "abc"], told)
    assert (found.trust, found.limiter.name) == ("yes", "disk-iops")
    told += [verdict("d", 21, limit="client", trust="no")]
    (found,) = over_runs([row(one) for one in "abcd"], told)
    assert found.trust == "no"
    assert over_runs([row("a")], [verdict("a", 0)]) == (), "without a figure"


MIB = 2**20


DIRECT = Load(block_bytes=MIB, depth=8, random=False)


def group(device_ios, *, device_bytes=100 * MIB, load=DIRECT):
    """100 reads of 1 MiB, and what the device counted of them."""
    samples = MachineUse(device_read_ios=device_ios, device_read_bytes=device_bytes)
    step = Step(index=0, name="seq", job="", expected_s=1)
    of_step = result(step, made.row("seq", step_index=0, ios=100, bytes=100 * MIB))
    found = groups_of([of_step], [StepEvidence(step, samples=samples)], (), None, "")[0]
    return replace(found, load=load)


@pytest.mark.parametrize(
    ("device_ios", "code", "words"),
    [
        (400, "requests-split", "split into requests of 256 KiB: the device counted 4 I/Os a"),
        (107, "requests-split", "split"), (50, "requests-merged", "merged"),
    ],
)  # fmt: skip
def test_a_count_more_than_five_percent_apart_is_told(device_ios, code, words):
    (found,) = counted_otherwise(group(device_ios))
    assert (found.code, found.weight) == (code, "note")
    assert words in found.message


SAMPLED = group(400)


def test_counts_that_are_alike_or_of_other_things_say_nothing():
    buffered = group(400, load=DIRECT.model_copy(update={"direct": False}))
    other_bytes = group(400, device_bytes=10 * MIB)
    no_samples = replace(SAMPLED, evidence=(StepEvidence(SAMPLED.evidence[0].step),))
    for alike in (group(96), group(100), group(104), buffered, other_bytes, no_samples):
        assert counted_otherwise(alike) == ()
