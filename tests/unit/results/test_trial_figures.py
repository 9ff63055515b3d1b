"""The figures of trials: one a machine, none that spans a cliff (MR-3), and what was asked for."""

from threading import Barrier, BrokenBarrierError

import pytest
from tests.books import SHIPPED
from tests.rigs.coursed import coursed
from tests.rigs.database import find_regressions, statements_of, trial_figures
from tests.rigs.measured import begin_run
from tests.rigs.plans import make_plan, save_plan
from tests.rigs.replicates import measured
from tests.rigs.runs import bare_run
from tests.rigs.synthetic import Noise, bucket, flat
from tests.unit.report.made import result, row, step

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.spec import Search
from diskbench.model.threshold import Threshold
from diskbench.results.compare_runs import compare_metrics
from diskbench.results.run_evidence import EvidenceOfRuns, ReadRun
from diskbench.results.selection import selected
from diskbench.results.trial_figures import _rented, common_fields, words
from diskbench.results.verdicts import judge
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.evidence import open_evidence
from diskbench.store.step_rows import save_step
from diskbench.store.where import Filter
from diskbench.units import NS_PER_S


def test_rented_machines_are_apart_and_a_shared_one_is_one(database):
    measured(database, [1.0, 2.0], disk="gp2")
    measured(database, [3.0, 4.0], disk="gp3", machine="01shared")
    measured(database, [5.0, 6.0], disk="io1", rented=False)
    machines = [one.machine for one in trial_figures(database, [], "iops")]
    assert len(set(machines)) == 4
    assert machines.count("01shared") == 2


def test_a_subject_reads_as_a_person_would_say_it_and_may_leave_out_what_all_share(database):
    measured(database, [1.0])
    measured(database, [1.0], disk="gp3")
    subjects = [one.subject for one in trial_figures(database, [], "iops")]
    assert words(subjects[0]) == "aws eu-central-1 m7i.large gp2 20 GiB, quick"
    assert words(subjects[0], without=["disk"]) == "aws eu-central-1 m7i.large 20 GiB, quick"
    common = common_fields(subjects)
    assert words(common) == "aws eu-central-1 m7i.large, quick"
    without = [name for name, _ in common]
    assert [words(one, without=without) for one in subjects] == ["gp2 20 GiB", "gp3 20 GiB"]
    assert words(subjects[0], without=[n for n, _ in common_fields(subjects[:1])]) == "gp2 20 GiB"


def test_runs_of_a_trial_are_one_figure_and_how_far_they_lie_apart(database):
    measured(database, [0.0], runs=[(3000.0, 2900.0, 100.0)])
    (one,) = trial_figures(database, [], "iops")
    assert one.value == 2900
    assert one.apart == pytest.approx(1.0)


def searched(database, run_id, *probes):
    """A trial of one run: a search for p99 < 2 ms, with the rate and the p99 (ms) of each probe."""
    steps = tuple(f"probe-{n}" for n in range(1, 5))
    target = Threshold.parse("p99 < 2ms")
    search = Search(capacity="capacity", steps=steps, target=target, precision=0.1, beyond=100)
    plan = make_plan((run_id,)).model_copy(update={"search": search})
    save_plan(database, plan, "file:///e")
    begin_run(database, run_id)
    done = [("capacity", "measure", 3000.0, 9.0)]
    done += [(name, "offered", *probe) for name, probe in zip(steps, probes, strict=False)]
    for index, (name, role, iops, p99_ms) in enumerate(done):
        one = row(name, run_id=run_id, step_index=index, role=role, iops=iops, p99_ns=p99_ms * 1e6)
        save_step(database, run_id, result(step(index, name, role=role), one))
    with transaction(database) as connection:
        connection.execute(schema.run.update().values(state="done"))


def test_of_the_probes_of_a_search_the_one_that_found_its_rate_is_a_figure(database):
    searched(database, "01kq8z6rj0aaaaaaaaaaaaaaa0", (1500.0, 1.0), (2250.0, 5.0), (1875.0, 1.9))
    searched(database, "01kq8z6rj0aaaaaaaaaaaaaab0", (1500.0, 3.0), (750.0, 0.5), (1125.0, 9.0))
    searched(database, "01kq8z6rj0aaaaaaaaaaaaaac0", (1500.0, 9.0))
    figures = [(one.line.step, one.value) for one in trial_figures(database, [], "iops")]
    assert sorted(figures) == [("capacity", 3000), ("capacity", 3000), ("capacity", 3000),
                               ("sla", 750), ("sla", 1875)]  # fmt: skip


DAY = [Filter("measured_at", ">=", "2026-11-01"), Filter("measured_at", "<=", "2026-11-01")]


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("profile=quick", [Filter("profile", "=", "quick")]),
        ("label.profile=x", [Filter("label.profile", "=", "x")]),
        ("team=storage", [Filter("label.team", "=", "storage")]),
        ("disk=gp2", [Filter("disk_type", "=", "gp2")]),
        ("kernel~6.1", [Filter("kernel", "~", "6.1")]),
        ("2026-11-01", DAY), ("2026-11-01..", DAY[:1]), ("..2026-11-01", DAY[1:]),
    ],
)  # fmt: skip
def test_a_name_is_a_key_first_and_then_a_label_and_days_are_whole(database, text, means):
    measured(database, [1.0], labels=[("profile", "x"), ("team", "storage")])
    assert selected(database, text) == means


def test_an_id_is_a_run_a_trial_or_a_campaign(database):
    trials = measured(database, [1.0, 2.0])
    assert selected(database, trials[1]) == [Filter("trial_id", "=", trials[1])]
    assert selected(database, "last") == [Filter("trial_id", "=", trials[1])]
    campaign = trial_figures(database, [], "iops")[0].campaign_id
    assert selected(database, campaign.upper()) == [Filter("campaign_id", "=", campaign)]
    with pytest.raises(UnknownName):
        selected(database, "01zz")


def test_what_names_nothing_or_begins_several_names_is_refused(database):
    measured(database, [1.0])
    measured(database, [2.0], campaign=1)
    for text, why in {"": "is empty", "..": "has no time", "01": "matches several"}.items():
        with pytest.raises(InvalidValue, match=why):
            selected(database, text)


def done(run_id, index, name, iops):
    of = {"ios": round(iops * 30), "bytes": round(iops * 30 * 4096), "runtime_ns": 30 * NS_PER_S}
    rates = {"iops": iops, "bytes_per_s": iops * 4096}
    return result(step(index, name), row(name, run_id=run_id, step_index=index, **of, **rates))


def judged(**steps):
    """The verdicts of the last run, by step."""
    count = len(next(iter(steps.values())))
    runs = [bare_run(run_id=f"r{at}", run_index=at, provider="import") for at in range(count)]
    results = {}
    for at, run in enumerate(runs):
        of_run = ((name, values[at]) for name, values in steps.items())
        results[run.run_id] = [done(run.run_id, n, *step) for n, step in enumerate(of_run)]
    nothing = {run.run_id: ReadRun() for run in runs}
    found, _ = judge(runs, results, None, nothing, SHIPPED)
    return {one.step: one for one in found if one.run_id == runs[-1].run_id}


@pytest.mark.parametrize(
    ("values", "trust"),
    [
        ([1000, 1010, 990, 1005, 1000, 995] * 3, "yes"),
        ([1000, 150, 900, 1700, 90, 1300, 2100, 400] * 3, "with care"),
        ([3000] * 8 + [100] * 8, "yes"),
        ([1000, 1600], "yes"),
    ],
    ids=["alike", "far apart", "fell", "two say little"],
)
def test_runs_far_apart_are_taken_with_care_unless_a_fall_explains_them(values, trust):
    verdict = judged(a=values)["a"]
    assert verdict.trust == trust
    assert ("runs-disagree" in {reason.code for reason in verdict.reasons}) == (trust != "yes")


def test_a_step_that_fell_beside_another_is_at_what_lasts():
    iops = [1000.0, 1004, 996, 1002] * 2 + [815.0, 811, 819, 812] * 2
    read = [300.0] * 8 + [100.0] * 8
    beside = judged(read=read, random=iops)["random"].stands_for
    assert judged(random=iops)["random"].stands_for.kind != "baseline"
    assert (beside.kind, beside.limiter.name) == ("baseline", "credit")


def test_a_disk_reached_by_a_tunnel_is_the_same_subject():
    disk = {"disk": "pd-ssd", "size_gib": 20}
    reached = {**disk, "gcp": {"iap": True}, "network": {"no_public_ip": True}}
    assert _rented(reached) == _rented(disk)


TOGETHER = 4
LONG_S = 60.0


class Waiting:
    """A store behind a network, of which no read ends before several have begun."""

    url = "s3://bucket/evidence"

    def __init__(self):
        self._store = open_evidence("memory:///")
        self.barrier = Barrier(TOGETHER)

    def get(self, key, *, limit=2**20):
        if key.endswith("manifest.json"):
            self.barrier.wait(LONG_S)
        return self._store.get(key, limit=limit)

    def __getattr__(self, name):
        return getattr(self._store, name)


def test_runs_behind_a_network_are_read_several_at_a_time_where_one_alone_would_wait_for_ever():
    store = Waiting()
    rows = [bare_run(run_id=f"run-{n}", trial_id="t", run_index=n) for n in range(TOGETHER)]
    read = EvidenceOfRuns(lambda _: store).read(rows, {})
    assert list(read) == [row.run_id for row in rows]
    assert set(read.values()) == {ReadRun()}
    store.barrier.abort()
    with pytest.raises(BrokenBarrierError):
        EvidenceOfRuns(lambda _: store).read(rows[:1], {})


BURST = bucket(870_000, 3000, 100, 900, Noise(sd=0.01), seed=1)
"""300 s at 3,000 and 600 s at 100 IOPS: a mean of 1,067 that no second had."""


@pytest.mark.parametrize(
    ("series", "iops", "level"),
    [(BURST, 100, "baseline"), (flat(1000, 300, Noise(sd=0.02), seed=2), 1000, None)],
    ids=["a cliff", "one level"],
)
def test_the_figure_of_a_step_is_what_lasts_or_its_mean(database, evidence, series, iops, level):
    coursed(database, evidence, series)
    (one,) = trial_figures(database, [], "iops")
    assert one.value == pytest.approx(iops, rel=0.05)
    assert (one.level, one.spans_cliff, dict(one.facts).get("regime")) == (level, False, level)
    (speed,) = trial_figures(database, [], "bytes_per_s")
    assert speed.value == pytest.approx(iops * 4096, rel=0.05)


@pytest.mark.slow
def test_a_latency_over_both_levels_is_no_figure_and_compare_says_so(database, evidence):
    coursed(database, evidence, BURST, labels=[("s", "a")])
    coursed(database, evidence, BURST, disk="gp3", number=1, labels=[("s", "b")])
    found = compare_metrics(database, "s=a", "s=b", metrics=["lat_mean_ns"])
    assert found.compared == ()
    assert "span a cliff" in found.not_compared[0].why
    assert find_regressions(database, [], metric="lat_mean_ns").histories == ()


@pytest.mark.slow
def test_compare_sets_level_beside_level_and_says_whose_it_is(database, evidence):
    for number in range(2):
        coursed(database, evidence, BURST, number=number, labels=[("s", "a")])
        series = flat(110, 300, Noise(sd=0.01), seed=number)
        coursed(database, evidence, series, number=number, disk="gp3", labels=[("s", "b")])
    (one,) = compare_metrics(database, "s=a", "s=b", metrics=["iops"]).compared
    assert one.ratio == pytest.approx(1.1, rel=0.05)
    dropped = "the rate dropped in 2 of 2 trials of A"
    assert f"{dropped}: their figure is that of the baseline, not a mean" in one.doubts


@pytest.mark.slow
def test_a_history_follows_the_level_that_lasts(database, evidence):
    for day in range(3):
        coursed(database, evidence, BURST, campaign=day)
    (found,) = find_regressions(database, []).histories
    assert [point.value for point in found.points] == pytest.approx([100] * 3, rel=0.05)
    assert found.after_cliff == 3


def test_the_evidence_may_lie_elsewhere_now_or_be_gone(database, evidence, tmp_path):
    coursed(database, evidence, BURST)
    (tmp_path / "evidence").rename(tmp_path / "moved")
    (gone,) = trial_figures(database, [], "iops")
    assert gone.value == pytest.approx(1067, rel=0.05)
    (moved,) = trial_figures(database, [], "iops", open_evidence((tmp_path / "moved").as_uri()))
    assert moved.value == pytest.approx(100, rel=0.05)


def test_the_plan_of_a_trial_is_read_once_whatever_the_number_of_its_runs(database, evidence):
    short = flat(1000, 60, Noise(sd=0.02), seed=1)
    sent = []
    for number, runs in enumerate((1, 9)):
        coursed(database, evidence, short, number=number, again=[short] * (runs - 1))
        coursed(database, evidence, short, number=number, disk="gp3", again=[short] * (runs - 1))
        with statements_of(database) as statements:
            trial_figures(database, [], "iops")
        sent.append(len(statements))
    assert sent[0] == sent[1]
