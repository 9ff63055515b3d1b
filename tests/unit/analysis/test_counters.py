"""The cloud's own counters in the verdict on a step of 60 s on a gp3 volume of 3,000 IOPS."""

import pytest
from tests.limiter_case import promise_of
from tests.rigs import made_trial

from diskbench.analysis.setting import Setting
from diskbench.analysis.stretches import Measured
from diskbench.analysis.verdict import verdict
from diskbench.model.doubts import COUNTERS_DIFFER
from diskbench.model.expectation import LimitName, Load
from diskbench.model.metrics import Exceeded
from diskbench.model.verdict import Verdict

LOAD = Load(block_bytes=4096, depth=64)
SAID = "confirmed by the volume's own counters: 58 of 60 s above its IOPS"


def judged(
    iops: float,
    exceeded: dict[LimitName, float],
    disk: str | None = "aws:gp3:100",
    counted_s: float | None = None,
) -> Verdict:
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
    assert [reason.message for reason in noted] == [
        "the volume's own counters show 0 of 60 s above its IOPS"
    ]
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
