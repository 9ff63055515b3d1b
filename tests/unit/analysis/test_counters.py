"""The cloud's own counters in the verdict on a step of 60 s on a gp3 volume of 3,000 IOPS."""

from __future__ import annotations

import pytest
from tests.limiter_case import promise_of
from tests.rigs import made_trial

from diskbench.analysis.setting import Setting
from diskbench.analysis.stretches import Measured
from diskbench.analysis.verdict import verdict
from diskbench.model.doubts import COUNTERS_DIFFER
from diskbench.model.expectation import LimitName, Load
from diskbench.model.verdict import Verdict

LOAD = Load(block_bytes=4096, depth=64)
SAID = "confirmed by the volume's own counters: 58 of 60 s above its IOPS"


def judged(
    iops: float, exceeded: dict[LimitName, float], disk: str | None = "aws:gp3:100"
) -> Verdict:
    measured = Measured(
        step_index=0, step="randread", iops=iops, bytes_per_s=iops * 4096, seconds=60.0
    )
    case = {} if disk is None else {"disk": disk}
    setting = Setting(load=LOAD, seconds=60.0, exceeded=exceeded)
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
        "the volume's own counters say 0 of 60 s above its IOPS"
    ]
    assert (found.trust, found.stands_for) == (plain.trust, plain.stands_for)


def test_between_the_shares_and_without_counters_nothing_changes():
    assert judged(3000.0, counted(20.0)) == judged(3000.0, {})
    assert "counters" not in judged(3000.0, {}).sentence


def test_the_verdict_on_a_run_names_what_its_volume_counted():
    step = {"name": "r", "load": {"block_bytes": 4096}, "levels": [(3000, 120)],
            "exceeded": {"disk-iops": 117.0, "disk-throughput": 0.0}}  # fmt: skip
    (found,) = made_trial.judged({"disk": "aws:gp3:100", "steps": [step]})
    assert found.stands_for.limiter.name == "disk-iops"
    assert "117 of 120 s above its IOPS" in found.sentence
