"""What steps of a trial were promised, and what runs and replicates say of one (MR-12)."""

from dataclasses import replace

import pytest
from tests.books import SHIPPED
from tests.rigs.fio_reports import FORMS, Disk, Told, text
from tests.rigs.runs import bare_run
from tests.unit.plan.planned import RANDOM, planned
from tests.unit.report import made, reported
from tests.unit.report.made import result, row
from tests.unit.report.reported import judged

from diskbench.model.expectation import Load
from diskbench.model.processor import MachineUse
from diskbench.model.rental import DiskSpec
from diskbench.model.spec import Search, Step
from diskbench.model.threshold import Threshold
from diskbench.plan.limit_path import Hint
from diskbench.results.expectations import promises_of
from diskbench.results.run_evidence import StepEvidence
from diskbench.results.step_case import counted_otherwise
from diskbench.results.step_groups import groups_of
from diskbench.results.step_verdicts import over_runs
from diskbench.results.verdicts import trial_verdicts
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import imported
from diskbench.store.query import runs_by_id
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


def run_row(run_id, *, trial=None, index=0, lease=None):
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
    rows = [run_row(f"{n}") for n in range(6)]
    verdicts = [verdict(f"{n}", value) for n, value in enumerate(figures)]
    (six,) = over_runs(rows, verdicts)
    (five,) = over_runs(rows[:5], verdicts[:5])
    assert (six.replicated.interval.low, six.replicated.interval.high) == (2900, 3050)
    assert six.interval.low == pytest.approx(2900 / 3000)
    assert (five.replicated.interval, five.interval) == (None, None)
    assert "no interval of 5 machines" in five.sentence


def test_runs_of_one_trial_and_trials_of_one_machine_are_one_sample():
    rows = [run_row("a", trial="t"), run_row("b", trial="t", index=1)]
    rows += [run_row("c", lease="machine"), run_row("d", lease="machine")]
    (found,) = over_runs(rows, [verdict(one, 3000) for one in "abcd"])
    assert (found.replicated.trials, found.replicated.machines) == (3, 2)


def test_the_figure_of_a_trial_that_fell_is_its_baseline():
    rows = [run_row(f"{n}", trial="t", index=n) for n in range(6)]
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
    (found,) = over_runs([run_row(one) for one in "abc"], told)
    assert (found.trust, found.limiter.name) == ("yes", "disk-iops")
    told += [verdict("d", 21, limit="client", trust="no")]
    (found,) = over_runs([run_row(one) for one in "abcd"], told)
    assert found.trust == "no"
    assert over_runs([run_row("a")], [verdict("a", 0)]) == (), "without a figure"


DIRECT = Load(block_bytes=MIB, depth=8, random=False)


def counted(device_ios, *, device_bytes=100 * MIB, load=DIRECT):
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
    (found,) = counted_otherwise(counted(device_ios))
    assert (found.code, found.weight) == (code, "note")
    assert words in found.message


SAMPLED = counted(400)


def test_counts_that_are_alike_or_of_other_things_say_nothing():
    buffered = counted(400, load=DIRECT.model_copy(update={"direct": False}))
    other_bytes = counted(400, device_bytes=10 * MIB)
    no_samples = replace(SAMPLED, evidence=(StepEvidence(SAMPLED.evidence[0].step),))
    for alike in (counted(96), counted(100), counted(104), buffered, other_bytes, no_samples):
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
        ids = [one.manifest.run_id for one in read]
        runs = list(map(runs_by_id(database, ids).get, ids))
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
