"""A gate that a plan can never pass or miss is refused when the plan is made."""

from types import SimpleNamespace

import pytest

from diskbench.errors import InvalidValue
from diskbench.model.spec import Search, Step
from diskbench.model.threshold import Threshold, read_conditions
from diskbench.plan.cells import key_values
from diskbench.plan.trial import check_gates, check_ratios


def step(index, name, job, role="measure"):
    return Step(index=index, name=name, role=role, job=f"[{name}]\n{job}", expected_s=1)


STEPS = (
    step(0, "fill", "rw=write\nsize=1m\n", "fill"), step(1, "reads", "rw=randread\nsize=1m\n"),
    step(2, "both", "rw=randrw:4k\nfdatasync=1\nsize=1m\n"),
    step(3, "fast", "rw=randwrite\ngtod_reduce=1\nsize=1m\n"), step(4, "plain", "size=1m\n"),
)  # fmt: skip


def asking(*texts):
    return SimpleNamespace(fail_if=read_conditions(texts, "--fail-if"), profile="mine")


@pytest.mark.parametrize("text", [
    "nothing: iops < 1", "reads: write iops < 1", "reads: sync p99 > 1ms", "trim iops < 1",
    "mixed iops < 1", "fast: p99 > 1ms", "p99 > 1ms", "write mean > 1ms", "fill: iops < 1",
    "plain: write iops < 1",
])  # fmt: skip
def test_a_figure_that_will_not_be_there_is_refused_by_name(text):
    with pytest.raises(InvalidValue, match="--fail-if") as caught:
        check_gates(asking(text), STEPS)
    assert caught.value.advice


@pytest.mark.parametrize("text", [
    "iops < 1", "reads: p99 > 1ms", "read p99 > 1ms", "sync p99 > 1ms", "both: sync max > 1s",
    "both: write iops < 1", "fast: iops < 1", "plain: read iops < 1", "mb_per_s < 1",
])  # fmt: skip
def test_a_figure_that_will_be_there_passes(text):
    check_gates(asking(text), STEPS)


def test_a_fill_alone_is_what_is_measured_and_the_result_of_a_search_needs_a_search():
    check_gates(asking("fill: iops < 1", "iops < 1"), STEPS[:1])
    how = {"target": Threshold.parse("p99 < 2ms"), "precision": 0.02, "beyond": 100}
    search = Search(capacity="reads", steps=("both",), **how)
    check_gates(asking("sla < 5000"), STEPS, search)
    with pytest.raises(InvalidValue, match="makes no search"):
        check_gates(asking("sla < 5000"), STEPS)
    with pytest.raises(InvalidValue, match="has one result"):
        check_gates(asking("reads: sla < 5000"), STEPS, search)


@pytest.mark.parametrize(("text", "known", "refused"), [
    ("ratio < 0.9", (), True), ("reads: ratio < 90%", (), True),
    ("reads: ratio < 0.9", ("both",), True), ("reads: ratio < 0.9", ("reads",), False),
    ("ratio < 0.9", ("reads",), False), ("iops < 9", (), False),
])  # fmt: skip
def test_a_ratio_needs_a_promise(text, known, refused):
    steps = [SimpleNamespace(name=one.name, load=0 if one.name in known else None) for one in STEPS]
    for expectation in [SimpleNamespace(steps=steps)] + [None] * (not known):
        plan = SimpleNamespace(cell=asking(text), steps=STEPS, expectation=expectation)
        if not refused:
            check_ratios(plan)
            continue
        with pytest.raises(InvalidValue, match="no ratio") as caught:
            check_ratios(plan)
        assert "--promise" in caught.value.advice


@pytest.mark.parametrize("text", ["iops < 0", "p99 > 0ms", "ratio < 0%", "mb_per_s >= 0"])
def test_a_limit_of_nothing_says_nothing(text):
    with pytest.raises(ValueError, match="above 0"):
        Threshold.failing(text, "--fail-if")


def test_a_label_that_is_too_long_to_print_is_refused_with_its_length():
    with pytest.raises(InvalidValue, match=r"--label note=x+… has 100,005 characters"):
        key_values("--label", ["note=" + "x" * 100_000])
