"""MR-12: what set the pace of a step is named, from recorded cases (tests/cases/limiter)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.limiter_case import judge, promise_of
from tests.unit.report import inside

from diskbench.analysis.limiter import limiter
from diskbench.analysis.setting import Setting, Stretch
from diskbench.analysis.stretches import Measured
from diskbench.analysis.verdict import verdict
from diskbench.model.expectation import Bound, Load
from diskbench.model.phase import Steadiness, StepPhases
from diskbench.model.processor import MachineUse
from diskbench.yaml_lines import plain_yaml

CASES = sorted((Path(__file__).parent.parent / "cases" / "limiter").glob("*.yaml"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_limit_of_a_recorded_case_is_named(path):
    case = plain_yaml(path.read_text(encoding="utf-8"))
    wanted = case["expect"]
    found = judge(case)
    main = found.stretches[case.get("main", found.main)]
    assert main.limiter.name == wanted["limiter"], main.limiter
    assert found.trust == wanted["trust"], found.reasons
    assert {one.code for one in found.reasons} >= set(wanted.get("reasons", ()))
    assert main.limiter.evidence
    if "kind" in wanted:
        assert main.kind == wanted["kind"]
    if "first" in wanted:
        assert found.stretches[0].limiter.name == wanted["first"]
    assert wanted.get("evidence", "") in "; ".join(main.limiter.evidence)


def test_a_step_without_any_second_is_a_mean_as_one_that_nobody_cut():
    load = Load(block_bytes=4096, depth=32)
    promise = promise_of({"disk": "aws:gp2:20"}, load)
    unseen = StepPhases(seconds=0, shortest_s=60, phases=(), steady=Steadiness(state="too short"))
    measured = Measured(0, "step", iops=850, bytes_per_s=850 * 4096, seconds=7200, phases=unseen)
    found = verdict(measured, Setting(load=load), promise)
    assert [one.code for one in found.reasons] == ["mixed"]
    assert found.trust == "with care"


LOAD = Load(block_bytes=4096, depth=256)


def level(disk, machine):
    """A promise with a cap of the disk and one of the machine."""
    caps = (Bound(limit="disk-iops", iops=disk), Bound(limit="vm-iops", iops=machine))
    lower, higher = sorted(caps, key=lambda one: one.iops)
    expected = inside.level(lower.iops, lower.limit)
    return expected.model_copy(update={"bounds": (lower, higher)})


@given(disk=st.floats(100, 1e6), machine=st.floats(100, 1e6), share=st.floats(0.901, 1.099))
def test_a_rate_within_ten_percent_of_the_lower_cap_is_at_it(disk, machine, share):
    lower = min(disk, machine)
    found = limiter(Stretch(lower * share, None, level=level(disk, machine)), Setting(load=LOAD))
    assert found.name == ("disk-iops" if disk <= machine else "vm-iops")


@given(cap=st.floats(100, 1e6), share=st.floats(0.01, 0.899))
def test_a_rate_further_below_every_cap_is_at_none(cap, share):
    found = limiter(Stretch(cap * share, None, level=level(cap, 2 * cap)), Setting(load=LOAD))
    assert found.name == "unknown"


@given(core=st.floats(0.9, 1.0), iops=st.floats(1, 1e6))
def test_a_busy_core_is_the_limit_where_no_cap_is_known(core, iops):
    used = MachineUse(busiest_core=core)
    found = limiter(Stretch(iops, None), Setting(load=LOAD, processor=used))
    assert found.name == "client"
    assert f"{core * 100:.0f} %" in found.evidence[0]
