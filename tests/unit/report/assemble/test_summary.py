"""A result in two sentences, for who never saw the tool."""

import re
from dataclasses import replace

import pytest
from tests.unit.report.made import plan
from tests.unit.report.reported import DOUBT, fallen, group, judged, reported, trial, verdict

from diskbench.analysis.sla import Sla
from diskbench.catalog.lookup import limits
from diskbench.catalog.prices import disk_limits
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.spec import Search
from diskbench.model.threshold import Threshold
from diskbench.model.verdict import LIMITER_WORDS
from diskbench.providers.options import EmulationOptions
from diskbench.report.assemble.report_view import many_sentences
from diskbench.report.assemble.subject import subject_of_plan
from diskbench.report.assemble.summary import BECAUSE


def rented(disk_type="gp2", size_gib=20, *, cloud="aws", **disk):
    rental = Rental(
        scope=Scope(provider="lab"), spec=RentSpec(lab=EmulationOptions()), cloud=cloud,
        offer="a machine", disk=DiskSpec(type=disk_type, size_gib=size_gib, **disk),
    )  # fmt: skip
    return {"offer": rental.offer, "limits": disk_limits(rental.catalogue, rental.disk)}


def at(kind, iops, limiter="disk-iops", step="s"):
    return verdict(judged(iops, limiter=limiter, kind=kind), step=step)


BURST, LASTED = at("burst", 3000.0, step="s1"), at("baseline", 100.0, "credit", step="s2")
MIXED = at(None, 1132.0, "credit", step="s2")


MIXES = "credit used up in s2, whose figures mix burst and baseline"
LASTS = "credit used up in s1; baseline of at most 100 IOPS"


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ([BURST], "burst of 3,000 IOPS; baseline not measured"),
        ([BURST, LASTED], f"burst of 3,000 IOPS; {LASTS}"),
        ([BURST, MIXED], f"burst of 3,000 IOPS; {MIXES}"),
        ([MIXED], MIXES),
        ([LASTED], ""),
        ([at(None, 90.0)], ""),
    ],
)
def test_what_was_seen_of_burst_and_baseline(verdicts, words):
    assert told(*verdicts, promised=rented()).headline == (
        words and f"{words} (promised: 100 IOPS)"
    )


@pytest.mark.parametrize(
    "disk", [{"disk_type": "io1", "iops": 400}, {"disk_type": "no such type"}, {"cloud": None}]
)
def test_a_disk_without_a_bucket_has_no_headline(disk):
    assert told(BURST, promised=rented(**disk)).headline == ""


GP2 = {
    "offer": "m7i.large with gp2 of 20 GiB", "promise": "100 IOPS, bursts to 3,000 for 31 min",
    "limits": limits("aws", "gp2", 20),
}  # fmt: skip


def told(*verdicts, promised=GP2, marks=()):
    subject = replace(subject_of_plan(plan()), **promised, marks=marks)
    return trial(subject=subject, verdicts=verdicts)


def test_what_was_bought_comes_first_then_what_it_gave_and_why():
    bought, gave = told(fallen()).sentences
    assert bought == f"You bought {GP2['offer']}: it promises {GP2['promise']}."
    assert figures(gave) == ["2,995", "31", "99.6", "100%", "100"]
    assert BECAUSE["credit"] in gave


def figures(text):
    """The numbers of a sentence, without those of names."""
    return re.findall(r"(?<![\w-])\d[\d,.]*%?(?![\w-])", text)


def test_nothing_was_bought_where_it_is_emulated_or_was_there_before():
    assert told(marks=("emulated",)).sentences[0].startswith("You tried m7i.large")
    assert "/data (ext4)" in told(promised={}).sentences[0]


def below(iops, limiter, **more):
    return verdict(judged(iops, 3000.0, limiter=limiter), **more)


@pytest.mark.parametrize(
    ("verdicts", "numbers", "words"),
    [
        ([below(3010.0, "disk-iops")], ["3,010", "100%", "3,000"], BECAUSE["disk-iops"]),
        ([below(3010.0, "disk-iops", step="kept"), below(900.0, "unknown", step="worst")],
         ["1", "2", "900", "30%", "3,000"], BECAUSE["unknown"]),
        ([below(900.0, "queue-depth", step="shallow"), below(3010.0, "disk-iops", step="deep")],
         ["1", "2"], "3,010 IOPS in deep"),
        ([below(iops, "disk-iops", run_id=str(iops)) for iops in (900.0, 1200.0, 1500.0)],
         ["1", "1", "1,200"], ""),
    ],
    ids=["kept, with the limit that was reached", "broken, by its worst step",
         "not asked of the disk, which is not blamed", "several runs count once, by the middle"],
)  # fmt: skip
def test_a_promise_is_told_as_it_was_kept(verdicts, numbers, words):
    gave = told(*verdicts).sentences[1]
    assert figures(gave)[: len(numbers)] == numbers
    assert words in gave


@pytest.mark.parametrize(
    ("slas", "words"),
    [
        ([Sla(2740.0, 2810.0, 6), Sla(2800.0, None, 5)],
         "It carried 2,740 IOPS at p99 below 10.0 ms (missed at 2,810; 6 probes"),
        ([Sla(0.0, 46.0, 6)], "It met the target at no rate: p99 below 10.0 ms was missed at"),
    ],
    ids=["the lowest of the runs", "none"],
)  # fmt: skip
def test_of_a_search_the_rate_that_it_found_is_told(slas, words):
    target = Threshold.parse("p99 < 10ms")
    search = Search(capacity="c", steps=("p",), target=target, precision=0.02, beyond=100)
    view = told(below(3010.0, "disk-iops"))
    view = replace(view, subject=replace(view.subject, search=search), slas=tuple(slas))
    assert view.sentences[1].startswith(words)


def test_why_it_slowed_down_is_told_with_the_bucket_of_the_disk_and_nothing_where_it_did_not():
    spent, earned = told(fallen()).slowed
    assert figures(spent)[:4] == ["100", "5,400,000", "3,000", "31"]
    assert "from empty to full takes 15 h" in earned
    scaled, _ = told(fallen(), promised=GP2 | {"time_scale": 60.0}).slowed
    assert figures(scaled)[1:4] == ["90,000", "5,400,000", "60"], "what a real one holds"
    assert told(verdict(judged(3000.0, 3000.0))).slowed == ()
    assert told().slowed == ()


def test_doubts_are_named_once_with_their_reasons():
    runs = [verdict(judged(9e4), trust="with care", run_id=run) for run in "ab"]
    assert told(*runs).trust == "Doubtful figures: rand-read-4k-qd32 (with care)."
    assert told(fallen()).trust == ""


def many(*groups):
    return many_sentences(
        reported(group(f"disk {n}", *trials, number=n) for n, trials in enumerate(groups))
    )


CACHED = verdict(judged(50_000.0), step="seq-write", trust="no", reasons=(DOUBT,))


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ([verdict(judged(100.0))], [verdict(judged(16000.0))],
         ("In rand-read-4k-qd32 the fastest, disk 1, reached 16,000 IOPS: 160 times the slowest, "
          "disk 0, with 100 IOPS.")),
        ([CACHED, verdict(judged(100.0))], [CACHED, verdict(judged(16000.0))],
         "In rand-read-4k-qd32 the fastest, disk 1, reached 16,000 IOPS"),
        ([fallen()], [verdict(judged(3000.0))],
         ("After 31 s, disk 0 keeps 99.6 IOPS in rand-read-4k-qd32; the fastest, disk 1, reaches "
          "3,000 IOPS: 30.1 times as much.")),
        ([verdict(judged(3000.0, kind="burst"))], [verdict(judged(3001.0))],
         ("In rand-read-4k-qd32 both reached about the same: from 3,000 IOPS in a burst (disk 0) "
          "to 3,001 IOPS (disk 1).")),
        ([verdict(judged(100.0), step="a")], [verdict(judged(100.0), step="b")],
         "They have no step in common."),
    ],
    ids=["fastest beside slowest", "not what a cache answered", "the fall of the slowest",
         "a burst beside what lasts", "no step in common"],
)  # fmt: skip
def test_of_two_disks_one_is_told_beside_the_other(one, other, told):
    first, second = many([trial(trial_id="a", verdicts=one)], [trial(trial_id="b", verdicts=other)])
    assert first == "2 configurations measured in 2 trials on 2 machines."
    assert second.startswith(told)


def test_iops_that_last_decide_before_throughput_and_bursts():
    def rate(step, iops, block=4096, kind=None):
        of = judged(iops).model_copy(update={"bytes_per_s": iops * block, "kind": kind})
        return verdict(of, step=step)

    def disk(name, factor):
        steps = (
            rate("seq-read-1m", 100.0 * factor, block=2**20),
            rate("on-credit", 3000.0 * factor, kind="burst"),
            rate("rand-read-4k", 500.0 * factor),
        )
        return trial(trial_id=name, verdicts=steps)

    assert many([disk("a", 1)], [disk("b", 2)])[1].startswith("In rand-read-4k the fastest,")


def test_a_rate_of_large_blocks_is_not_ranked_with_iops_of_small_ones():
    rates = [(100.0, 4096), (300.0, 4096), (9.4, 2**20)]
    of = [judged(rate).model_copy(update={"bytes_per_s": rate * of}) for rate, of in rates]
    disks = [[trial(trial_id=str(n), verdicts=(verdict(one),))] for n, one in enumerate(of)]
    assert many(*disks)[1].endswith("reached 300 IOPS: 3 times the slowest, disk 0, with 100 IOPS.")


def test_disks_of_one_level_are_not_ranked_and_large_blocks_are_told_in_bytes():
    def many_of(*rates, block):
        of = [judged(rate).model_copy(update={"bytes_per_s": rate * block}) for rate in rates]
        disks = [[trial(trial_id=str(n), verdicts=(verdict(one),))] for n, one in enumerate(of)]
        return many(*disks)[1]

    alike, large = many_of(100.0, 101.0, block=4096), many_of(100.0, 300.0, block=2**20)
    assert all(words in alike for words in ("100 IOPS", "101 IOPS"))
    assert all(words in large for words in ("105 MB/s", "315 MB/s"))
    assert "slowest" not in alike
    assert "IOPS" not in large


def test_of_replicates_their_median_is_told_with_its_interval_or_why_there_is_none():
    def replicates(count):
        return [
            trial(trial_id=str(n), verdicts=(verdict(judged(3000.0 + n, 3000.0)),))
            for n in range(count)
        ]

    assert many(replicates(3))[1] == (
        "disk 0 reached 3,001 IOPS in rand-read-4k-qd32, 100% of what was promised "
        "(no interval (n = 3))."
    )
    assert "(interval 97%: 3,000–3,005)" in many(replicates(6))[1]


def runs(*levels):
    """A verdict a run, each at one level."""
    return [
        verdict(judged(iops, promised, limiter=limiter, kind=kind), run_id=str(number))
        for number, (iops, promised, limiter, kind) in enumerate(levels)
    ]


def test_a_disk_may_fall_from_one_run_to_the_next_and_runs_that_merely_differ_did_not():
    burst = (3000.0, 3000.0, "disk-iops", "burst")
    baseline = (100.0, 100.0, "credit", "baseline")
    fell = told(*runs(burst, burst, baseline, baseline))
    assert figures(fell.sentences[1]) == ["3,000", "2", "100", "100%", "100"]
    assert "a bucket of 5,400,000 I/Os" in fell.slowed[0]
    noisy = told(*runs(*((iops, 3000.0, "unknown", None) for iops in (2800.0, 1500.0, 1400.0))))
    assert noisy.slowed == ()
    assert "for 1 run" not in noisy.sentences[1]


def test_a_fall_for_another_reason_is_told_without_a_bucket():
    throttled = verdict(
        judged(3000.0, kind="level", start_s=0.0, end_s=60.0),
        judged(1000.0, limiter="vm-iops", kind="level", start_s=60.0, end_s=120.0),
    )
    (why,) = told(throttled).slowed
    assert why == (
        "After 1:00 it fell from 3,000 IOPS to 1,000 IOPS: that is the machine's limit on "
        "operations a second, not the disk's."
    )


def test_of_levels_the_one_that_most_runs_stand_for_is_told():
    steady = [trial(trial_id=str(n), verdicts=(verdict(judged(1300.0)),)) for n in range(3)]
    assert "reached 1,300 IOPS" in many([*steady, trial(trial_id="x", verdicts=(fallen(),))])[1]
    fell = [trial(trial_id=str(n), verdicts=(fallen(),)) for n in range(2)]
    assert "reached 99.6 IOPS" in many(fell)[1]


def test_every_limiter_has_words_and_a_reason() -> None:
    assert set(BECAUSE) == set(LIMITER_WORDS)
