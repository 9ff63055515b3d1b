"""What a profile asks of a figure: passed, not passed, not measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report.reported import judged, verdict

from diskbench.model.threshold import Threshold
from diskbench.report.assemble.lines import Spread, StepLine
from diskbench.report.assemble.threshold_lines import threshold_lines

ETCD = Threshold.parse("sync p99 < 10ms", step="commit", source="etcd")


def line(*p99_ns, direction="sync", step="commit"):
    iops, p99 = Spread((3000.0,) * max(len(p99_ns), 1)), Spread(p99_ns) if p99_ns else None
    return StepLine(step, direction, "measure", iops, Spread((0.0,)), p99_ns=p99)


@pytest.mark.parametrize(
    ("p99_ns", "outcome"), [(2.4e6, "passed"), (10e6, "not passed"), (31e6, "not passed")]
)
def test_a_figure_is_judged_by_the_limit(p99_ns, outcome):
    (found,) = threshold_lines([ETCD], [line(p99_ns), line(1.0, direction="write")])
    assert found.outcome == outcome
    assert found.text.startswith(f"{outcome}: commit sync p99 is ")
    assert "10.0 ms (etcd)" in found.text


def test_the_worst_of_several_runs_counts():
    (found,) = threshold_lines([ETCD], [line(2e6, 12e6, 3e6)])
    assert found.outcome == "not passed"
    assert "12.0 ms, the worst of 3 runs" in found.text


def test_a_figure_that_too_few_syncs_back_is_not_passed_over():
    (few,) = threshold_lines([ETCD], [line()])
    (none,) = threshold_lines([ETCD], [line(1.0, step="other")])
    assert {few.outcome, none.outcome} == {"not measured"}


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [("p99 > 10ms", "passed"), ("p99 >= 10ms", "not passed"), ("p99 > 9.9ms", "not passed"),
     ("commit: p99 > 1ms", "not passed"), ("write p99 > 1ms", "not measured")],
)  # fmt: skip
def test_what_fails_a_figure_is_the_opposite_of_what_it_keeps_to(condition, outcome):
    (found,) = threshold_lines([Threshold.failing(condition)], [line(10e6)])
    assert found.outcome == outcome


def test_a_ratio_is_judged_by_the_worst_run_of_each_step():
    verdicts = [verdict(judged(iops, 3000.0), step=step) for step, iops in
                (("a", 2990.0), ("a", 2600.0), ("b", 3000.0))]  # fmt: skip
    verdicts.append(verdict(judged(3000.0), step="without a promise"))
    found = threshold_lines([Threshold.failing("ratio < 90%")], [], verdicts)
    assert [(each.step, each.outcome) for each in found] == [
        ("a", "not passed"), ("b", "passed"), ("without a promise", "not measured"),
    ]  # fmt: skip


def test_units_are_those_of_the_rows():
    assert Threshold.parse("p99.9 < 250us").limit == 250_000
    assert Threshold.parse("mb_per_s > 100").limit == 100e6
    assert Threshold.parse("read iops > 3000").direction == "read"


@pytest.mark.parametrize(
    "text", ["p99 < 10", "p98 < 10ms", "iops > 3000ms", "fsync p99 < 1ms", "p99 = 1ms", "", "<"]
)
def test_what_is_no_threshold_says_what_was_not_understood(text):
    with pytest.raises(ValueError, match=r"is no|has no unit|needs a unit"):
        Threshold.parse(text)
    with pytest.raises(ValueError, match=r"is no|has no unit|needs a unit"):
        Threshold.failing(f"step: {text}")


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text):
    try:
        assert Threshold.parse(text).limit >= 0
    except ValueError:
        return
