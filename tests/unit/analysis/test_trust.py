"""Whether a figure is trusted; what the cloud's counters say of 60 s on a gp3 of 3,000 IOPS."""

import numpy as np
import pytest
from tests.limiter_case import promise_of
from tests.rigs import made_trial
from tests.rigs.synthetic import Noise, flat, steps
from tests.unit.report.reported import judged, trial, verdict

from diskbench.analysis.phases import step_phases
from diskbench.analysis.setting import Setting
from diskbench.analysis.shown import reasons_over, shown
from diskbench.analysis.stretches import Measured, StepPromise
from diskbench.analysis.time_share import kept_seconds, share_of_runs, share_of_seconds
from diskbench.analysis.trust import headline_step, of_trial, over_runs, reasons_of, trust
from diskbench.analysis.verdict import verdict as analysed
from diskbench.catalog.expect import expect_on, path_of
from diskbench.catalog.lookup import limits
from diskbench.model.doubts import COUNTERS_DIFFER, Reason
from diskbench.model.expectation import Load
from diskbench.model.metrics import Exceeded
from diskbench.model.processor import MachineUse
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.run import Headline
from diskbench.report.assemble.result_rows import result_rows
from diskbench.report.assemble.summary import shares_of_time
from diskbench.report.terminal.verdict_text import verdict_lines

IDLE = MachineUse(busiest_core=0.3, busiest_job=0.1, all_jobs=0.1)


def reasons(code, *, limited_by="unknown", device_share=None, processor=IDLE):
    doubt = Warning(code=code, message="recorded", advice="repeat")
    return reasons_of(
        [doubt], limited_by=limited_by, device_share=device_share, processor=processor
    )


@pytest.mark.parametrize(
    ("code", "share", "expected"),
    [
        ("page-cache", 0.01, "no"), ("page-cache", 0.49, "no"), ("page-cache", 0.9, "with care"),
        ("page-cache", None, "with care"), ("unwritten", 0.0, "no"),
        ("unwritten", 0.94, "with care"), ("not-a-disk", None, "no"),
        ("too-short", None, "with care"), ("fio-error", None, "with care"), ("clock", None, "yes"),
        ("import", None, "yes"), ("of a later diskbench", None, "yes"),
    ],
)  # fmt: skip
def test_a_warning_weighs_what_it_says_of_the_disk(code, share, expected):
    assert trust(reasons(code, device_share=share)) == expected


def test_without_a_reason_a_figure_is_believed():
    found = reasons_of([], limited_by="disk-iops", device_share=None, processor=IDLE)
    assert (found, trust(found)) == ((), "yes")


@pytest.mark.parametrize("limited_by", ["client", "queue-depth", "disk-iops", "credit"])
def test_a_busy_core_takes_nothing_from_a_figure_at_its_cap(limited_by):
    busy = MachineUse(busiest_core=0.95, busiest_job=0.5, all_jobs=0.9)
    found = reasons("client-bound", limited_by=limited_by, processor=busy)
    assert [one.code for one in found] == ["client-bound"]
    assert trust(found) == ("yes" if limited_by in ("disk-iops", "credit") else "with care")


def test_a_core_that_others_fill_is_not_called_the_load_generator_and_one_is_told_anyway():
    others = MachineUse(busiest_core=0.97, busiest_job=0.02, all_jobs=0.02)
    assert [one.code for one in reasons("client-bound", processor=others)] == ["machine-busy"]
    busy = MachineUse(busiest_core=1.0)
    (found,) = reasons_of([], limited_by="client", device_share=None, processor=busy)
    assert (found.code, found.weight) == ("client-bound", "with care")


def test_one_odd_run_of_several_does_not_decide_and_each_of_two_does():
    assert over_runs(["yes"] * 9 + ["no"]) == "yes"
    assert over_runs(["yes"] * 199 + ["with care"]) == "yes"
    assert over_runs(["yes"] * 4 + ["no", "with care"]) == "with care"
    assert over_runs(["yes"] * 2 + ["no"] * 2) == "no"
    assert over_runs(["yes", "no"]) == "no"
    assert over_runs(["with care"]) == "with care"
    assert over_runs([]) == "yes"


def load(step, *, random=True, block=4096, iops=1.0):
    moved = None if iops is None else iops * 4096
    return Headline(step, iops, moved, is_random=random, block_bytes=block)


def chosen(*loads: Headline):
    found = headline_step(loads)
    return found.step if found else None


def test_random_goes_before_sequential_and_small_before_large():
    steps = [
        load("seq", random=False, iops=9e9), load("large", block=2**20, iops=9e9),
        load("small", iops=10.0), load("deep", iops=3000.0), load("same as deep", iops=3000.0),
    ]  # fmt: skip
    assert chosen(*steps) == "deep"
    assert chosen(*steps[:2]) == "large"
    assert chosen(load("unknown", block=None), load("known", block=2**20)) == "known"
    assert chosen() is None


def one(iops, trust="yes", kind=None):
    return Headline("read", iops, None, kind, trust)  # type: ignore[arg-type]


def test_a_trial_has_the_middle_of_its_runs_at_the_baseline_and_the_trust_over_all():
    runs = [one(100.0, kind="baseline"), one(3000.0, kind="burst"), one(3000.0, kind="burst")]
    found = of_trial(runs)
    assert (found.iops, found.kind) == (100.0, "baseline")
    found = of_trial([one(1.0), one(2.0), one(3.0), one(4.0)])
    assert found.iops == 2.0  # of an even number the lower one
    cases = {"yes": ("yes", "yes"), "with care": ("yes", "with care"), "no": ("no", "with care")}
    for expected, trusts in {**cases, None: ("yes", None)}.items():  # one was not judged
        assert of_trial([one(1.0, trust) for trust in trusts]).trust == expected
    assert of_trial([]) is None


# --- The run that is shown


STEP = "rand-read-4k-qd32"


def note(how):
    return Reason(code=f"requests-{how}", weight="note", message=f"blocks were {how}")


def runs():
    """Three runs, each with another busiest core and another word for its requests."""
    told = ((3100.0, "27 %", "split"), (2900.0, "35 %", "merged"), (3000.0, "31 %", "merged"))

    def one(number, iops, busy, how):
        evidence = (f"the busiest core was {busy} busy",)
        stretch = judged(iops, limiter="unknown", evidence=evidence)
        return verdict(stretch, run_id=f"01trial-run{number}", reasons=(note(how),))

    return [one(number, *of) for number, of in enumerate(told)]


def test_page_terminal_and_headline_tell_of_the_run_whose_figure_they_show():
    found = runs()
    (row,) = result_rows([trial(count=3, verdicts=tuple(found))])
    text = "\n".join(text for _, text in verdict_lines(found))
    assert shown(found).run_id == "01trial-run2"
    assert (row.iops.text, row.evidence) == ("3,000", ("the busiest core was 31 % busy",))
    assert "31 %" in text
    assert "27 %" not in text
    assert "35 %" not in text
    one = trial(count=2, verdicts=tuple(runs()[:2]))
    (row,) = result_rows([one])
    assert row.iops.text == "2,900"
    assert "2,900 IOPS" in one.sentences[1]


def test_blocks_are_merged_or_split_and_never_both():
    found = runs()
    assert [reason.code for reason in reasons_over(found)] == ["requests-merged"]
    text = "\n".join(text for _, text in verdict_lines(found))
    assert "Blocks were merged" in text
    assert "split" not in text


def test_doubts_are_of_all_runs():
    doubt = Reason(code="stalled", weight="with care", message="it stalled in 30 of 60 s")
    first, *others = runs()
    first = first.model_copy(update={"trust": "with care", "reasons": (doubt, note("split"))})
    found = [first, *others]
    # One of three does not decide: it is a note, with its run.
    told = sorted((one.code, one.weight) for one in reasons_over(found))
    assert told == [("requests-merged", "note"), ("stalled", "note")]
    assert "run 1: It stalled" in "\n".join(text for _, text in verdict_lines(found))
    assert reasons_over([first, first, *others])[0].weight == "with care"


LOAD = Load(block_bytes=4096, depth=64)
SAID = "confirmed by the volume's own counters: 58 of 60 s above its IOPS"


def judged_by(iops, exceeded, disk="aws:gp3:100", counted_s=None):
    measured = Measured(0, "randread", iops, iops * 4096, seconds=60.0)
    case = {} if disk is None else {"disk": disk}
    setting = Setting(load=LOAD, seconds=60.0, exceeded=Exceeded(exceeded, counted_s))
    return analysed(measured, setting, promise_of(case, LOAD))


def counted(iops_s, machine_s=0.0):
    return {"disk-iops": iops_s, "disk-throughput": 0.0, "vm-iops": machine_s, "vm-throughput": 0.0}


def test_the_limit_that_the_counters_confirm_is_named_in_the_sentence():
    found = judged_by(3000.0, counted(58.0))
    assert found.stands_for.limiter.name == "disk-iops"
    assert f"limited by disk IOPS ({SAID})" in found.sentence
    assert found.trust == judged_by(3000.0, {}).trust


@pytest.mark.parametrize(
    ("exceeded", "name"),
    [(counted(58.0), "disk-iops"), (counted(0.0, 58.0), "vm-iops"), (counted(20.0), "unknown")],
)
def test_a_limit_that_nothing_else_explains_is_the_one_that_was_passed(exceeded, name):
    assert judged_by(5000.0, exceeded, disk=None).stands_for.limiter.name == name


def test_a_limit_that_was_never_passed_is_noted_and_the_rate_stays_trusted():
    plain, found = judged_by(3000.0, {}), judged_by(3000.0, counted(0.0))
    noted = [reason for reason in found.reasons if reason.code == COUNTERS_DIFFER.code]
    told = "the volume's own counters show 0 of 60 s above its IOPS"
    assert [reason.message for reason in noted] == [told]
    assert (found.trust, found.stands_for) == (plain.trust, plain.stands_for)


def test_between_the_shares_without_counters_and_of_uncounted_seconds_nothing_is_said():
    assert judged_by(3000.0, counted(20.0)) == judged_by(3000.0, {})
    assert "counters" not in judged_by(3000.0, {}).sentence
    found = judged_by(3000.0, counted(40.0), counted_s=45.0)
    assert "counters: at least 40 of 60 s above its IOPS" in found.sentence
    unseen = judged_by(3000.0, counted(0.0), counted_s=45.0)
    assert COUNTERS_DIFFER.code not in {reason.code for reason in unseen.reasons}


def test_a_stretch_has_at_least_the_seconds_that_the_others_have_no_room_for():
    step = {"name": "r", "load": {"block_bytes": 4096}, "levels": [(3000, 200), (300, 300)],
            "exceeded": {"disk-iops": 480.0, "disk-throughput": 0.0}}  # fmt: skip
    (found,) = made_trial.judged({"disk": "aws:gp2:100", "steps": [step]})
    assert [stretch.limiter.confirmed().partition(": ")[2] for stretch in found.stretches] == [
        "at least 180 of 200 s above its IOPS", "at least 280 of 300 s above its IOPS"
    ]  # fmt: skip


def test_the_verdict_on_a_run_names_what_its_volume_counted():
    step = {"name": "r", "load": {"block_bytes": 4096}, "levels": [(3000, 120)],
            "exceeded": {"disk-iops": 117.0, "disk-throughput": 0.0}}  # fmt: skip
    (found,) = made_trial.judged({"disk": "aws:gp3:100", "steps": [step]})
    assert found.stands_for.limiter.name == "disk-iops"
    assert "117 of 120 s above its IOPS" in found.sentence


def test_seconds_below_nine_tenths_are_counted_with_their_worst_spell():
    values = steps([(3000, 1000), (2000, 20), (3000, 970), (2600, 10)], Noise(0.001), seed=1)
    found = share_of_seconds(kept_seconds(values, 3000), 0.99)
    assert (found.of, found.kept, found.worst) == (2000, 1970, 20)
    assert found.low < 0.985 < found.high
    interval = f"({100 * found.low:.3g}–{100 * found.high:.3g}%)"
    told = f"98.5% of 2,000 s at 90% of the promise or more {interval}; worst spell 20 s"
    assert found.words() == f"{told}; designed for 99% of the time"


def test_slow_seconds_in_spells_make_the_interval_wider():
    below = np.full(3600, 3000.0)
    spread, together = below.copy(), below.copy()
    spread[::40], together[:90] = 2000, 2000
    apart, spell = (share_of_seconds(kept_seconds(v, 3000), None) for v in (spread, together))
    assert apart.kept == spell.kept
    assert spell.high - spell.low > 3 * (apart.high - apart.low)


@pytest.mark.parametrize("share", [0.9, 0.99])
def test_the_interval_covers_the_share_of_independent_seconds(share):
    covered = 0
    for seed in range(200):
        ok = np.random.default_rng(seed).random(3600) < share
        found = share_of_seconds(kept_seconds(np.where(ok, 3000.0, 1000.0), 3000), None)
        covered += found.low <= share <= found.high
    assert covered >= 180


def test_a_minute_and_nine_runs_have_no_share_of_the_time():
    assert kept_seconds(flat(3000, 60, Noise(), seed=1), 3000) is None
    assert share_of_runs([1.0] * 9, 0.99) is None
    found = share_of_runs([1.0] * 199 + [0.5], 0.999)
    assert (found.kept, found.of, found.worst, found.designed) == (199, 200, 1, 0.999)
    assert found.low > 0.96


def test_the_catalogue_says_the_share_that_the_runs_of_a_trial_stand_beside():
    shares = {"aws gp3": (0.99, 0.9), "aws io2": (0.999, 0.9), "azure PremiumV2_LRS": (0.999, 1.0)}
    for name, wanted in shares.items():
        share = limits(*name.split(), 100, 1000 if "io2" in name else None).time_share
        assert (share.of_time, share.at_least) == wanted
    step = {"name": "r", "load": {"block_bytes": 4096}, "seconds": 30, "runs": [[3000, 12]]}
    kept = made_trial.judged({"disk": "aws:gp3:100", "steps": [step]})[0].kept
    assert (kept.kept, kept.of, kept.designed) == (12, 12, 0.99)


def test_a_long_planned_step_says_its_share_beside_that_of_the_disk():
    load = Load(block_bytes=4096, depth=32)
    expected = expect_on(path_of(limits("aws", "gp3", 100)), load)
    values = steps([(3000, 3000), (2000, 40), (3000, 560)], Noise(0.005), seed=1)
    phases = step_phases(values, values * 4096, expected=expected)
    measured = Measured(0, "soak", 2989, 2989 * 4096, 3600, phases=phases)
    found = analysed(measured, Setting(load=load), StepPromise(expected, designed=0.99))
    text = " ".join(" ".join(text for _, text in verdict_lines([found])).split())
    assert "soak: 98.9% of 3,599 s at 90% of the promise or more" in text
    assert "worst spell 40 s; designed for" in text
    (share,) = shares_of_time([found])
    assert share.startswith("soak: 98.9% of 3,599 s"), "what pages and Markdown say, too"
