"""What runs and replicates say of a step together; device and fio counts of its I/Os (MR-12)."""

from dataclasses import replace

import pytest
from tests.books import SHIPPED
from tests.rigs.fio_reports import FORMS, Disk, Told, text
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
from diskbench.results.verdicts import trial_verdicts
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import imported
from diskbench.store.query import find_run


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


# What is said of an import whose report leaves facts out: the device's own rate beside its
# promise, and nothing that the report does not show.


@pytest.fixture
def taken(tmp_path):
    """The verdicts on a report, on a gp3 of 100 GiB."""
    database = open_database(f"sqlite:///{tmp_path}/db")
    evidence = open_evidence(f"file://{tmp_path}/evidence")

    def judge(report, **hint):
        path = tmp_path / "report.txt"
        path.write_text(report)
        labels = {"as_disk": "aws:gp3:100"} | hint
        read = list(imported(database, evidence, read_sources([path])[0], labels, "0"))
        runs = [find_run(database, one.manifest.run_id) for one in read]
        return trial_verdicts(database, evidence, runs, books=SHIPPED)

    yield judge
    database.dispose()


def words(verdict):
    stretch = verdict.stands_for
    return " ".join([*stretch.limiter.evidence, *(reason.message for reason in verdict.reasons)])


@pytest.mark.slow
def test_the_devices_own_rate_stands_beside_its_promise(taken):
    (found,) = taken(text([Told(iops=52_000)], [Disk(reads=180_300)]))
    assert (found.stands_for.limiter.name, found.trust) == ("page-cache", "no")
    assert "3,005 IOPS (100% of the 3,000 IOPS that it allows)" in words(found)
    assert "buffered" not in words(found), "nothing says that it was"


@pytest.mark.slow
def test_where_blocks_may_have_been_gathered_the_requests_are_told_and_a_bound_is_one(taken):
    (found,) = taken(FORMS["text without head"]([Told(iops=52_000)], [Disk(reads=180_300)]))
    assert found.trust == "with care"
    assert "the device did 3,005 requests a second" in words(found)
    write = Told(rw="write", block=2**20, depth=1, engine="psync", iops=1600, seconds=30)
    (found,) = taken(text([write], [Disk(writes=14_300)]))
    assert "at most 625 MB/s" in words(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("job", "said"),
    [
        (Told(depth=16, engine="psync", iops=800), False), (Told(depth=16, iops=800), False),
        (Told(depth=1, engine="psync", iops=800), True), (Told(depth=1, iops=800), True),
        (Told(rw="read", depth=1, engine="psync", iops=800), False),
        (Told(rw="randwrite", depth=1, engine="psync", iops=800), False),
    ],
)  # fmt: skip
def test_one_at_a_time_is_said_only_where_neither_depth_nor_memory_may_be_more(taken, job, said):
    (found,) = taken(text([job]))
    assert ("one I/O at a time" in words(found)) is said
    assert found.stands_for.promised.limited_by == "disk-iops", "no promise of its latency"


@pytest.mark.slow
def test_writes_that_all_reached_the_device_were_not_taken_by_memory(taken):
    for form in FORMS:
        jobs = [Told(rw="randwrite", iops=4100, options={"direct": "0"})]
        (found,) = taken(FORMS[form](jobs, [Disk(writes=246_100)]))
        assert found.stands_for.limiter.name != "page-cache", form
        assert "memory" not in words(found), form


@pytest.mark.slow
def test_limits_of_a_machine_that_are_not_known_are_said_to_be_missing(taken):
    (found,) = taken(text([Told()]), as_machine="c4.xlrage")
    assert "machine-unknown" in {reason.code for reason in found.reasons}
    assert "near: c4.xlarge" in words(found)
    assert found.trust == "yes"
