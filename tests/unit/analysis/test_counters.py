"""The cloud's own counters in the verdict on a step of 60 s on a gp3 volume of 3,000 IOPS; and for
how much of the time a step kept its promise."""

import numpy as np
import pytest
from tests.limiter_case import promise_of
from tests.rigs import made_trial
from tests.rigs.synthetic import Noise, flat, steps

from diskbench.analysis.phases import step_phases
from diskbench.analysis.setting import Setting
from diskbench.analysis.stretches import Measured, StepPromise
from diskbench.analysis.time_share import kept_seconds, share_of_runs, share_of_seconds
from diskbench.analysis.verdict import verdict
from diskbench.catalog.expect import expect_on, path_of
from diskbench.catalog.lookup import limits
from diskbench.model.doubts import COUNTERS_DIFFER
from diskbench.model.expectation import LimitName, Load
from diskbench.model.metrics import Exceeded
from diskbench.model.verdict import Verdict
from diskbench.report.assemble.summary import shares_of_time
from diskbench.report.terminal.verdict_text import verdict_lines

LOAD = Load(block_bytes=4096, depth=64)
SAID = "confirmed by the volume's own counters: 58 of 60 s above its IOPS"


def judged(iops, exceeded, disk: str | None = "aws:gp3:100", counted_s=None) -> Verdict:
    measured = Measured(0, "randread", iops, iops * 4096, seconds=60.0)
    case = {} if disk is None else {"disk": disk}
    setting = Setting(load=LOAD, seconds=60.0, exceeded=Exceeded(exceeded, counted_s))
    return verdict(measured, setting, promise_of(case, LOAD))


def counted(iops_s: float, machine_s: float = 0.0) -> dict[LimitName, float]:
    return {"disk-iops": iops_s, "disk-throughput": 0.0, "vm-iops": machine_s, "vm-throughput": 0.0}


def test_the_limit_that_the_counters_confirm_is_named_in_the_sentence():
    found = judged(3000.0, counted(58.0))
    assert found.stands_for.limiter.name == "disk-iops"
    assert f"limited by disk IOPS ({SAID})" in found.sentence
    assert found.trust == judged(3000.0, {}).trust


@pytest.mark.parametrize(
    ("exceeded", "name"),
    [(counted(58.0), "disk-iops"), (counted(0.0, 58.0), "vm-iops"), (counted(20.0), "unknown")],
)
def test_a_limit_that_nothing_else_explains_is_the_one_that_was_passed(exceeded, name):
    assert judged(5000.0, exceeded, disk=None).stands_for.limiter.name == name


def test_a_limit_that_was_never_passed_is_noted_and_the_rate_stays_trusted():
    plain, found = judged(3000.0, {}), judged(3000.0, counted(0.0))
    noted = [reason for reason in found.reasons if reason.code == COUNTERS_DIFFER.code]
    told = "the volume's own counters show 0 of 60 s above its IOPS"
    assert [reason.message for reason in noted] == [told]
    assert (found.trust, found.stands_for) == (plain.trust, plain.stands_for)


def test_between_the_shares_without_counters_and_of_uncounted_seconds_nothing_is_said():
    assert judged(3000.0, counted(20.0)) == judged(3000.0, {})
    assert "counters" not in judged(3000.0, {}).sentence
    found = judged(3000.0, counted(40.0), counted_s=45.0)
    assert "counters: at least 40 of 60 s above its IOPS" in found.sentence
    unseen = judged(3000.0, counted(0.0), counted_s=45.0)
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
    found = verdict(measured, Setting(load=load), StepPromise(expected, designed=0.99))
    text = " ".join(" ".join(text for _, text in verdict_lines([found])).split())
    assert "soak: 98.9% of 3,599 s at 90% of the promise or more" in text
    assert "worst spell 40 s; designed for" in text
    (share,) = shares_of_time([found])
    assert share.startswith("soak: 98.9% of 3,599 s"), "what pages and Markdown say, too"
