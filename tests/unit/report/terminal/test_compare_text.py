"""What replicates say together, for a terminal."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.analysis.compare import percent
from diskbench.model import comparison
from diskbench.model.campaign import Replicates
from diskbench.model.comparison import Difference, Interval, Replicated, Side
from diskbench.model.history import History, HistoryPoint, LevelChange
from diskbench.report.assemble.words import figure_text
from diskbench.report.terminal import compare_text
from diskbench.report.terminal.compare_text import replicated_text

NARROW = Replicated(
    trials=10, machines=10, median=3000, low=2900, high=3100, variation=0.01, more=0,
    interval=Interval(low=2990, high=3010, coverage=0.979),
)  # fmt: skip
FEW = Replicated(trials=3, machines=3, median=2000, low=1900, high=2100, variation=0.05, more=7)


def a_line(**changes):
    values = {
        "block": "aws gp2", "step": "rand", "direction": "read", "metric": "iops", "a": NARROW,
        "b": FEW, "pairs": 3, "n": 3, "unpaired": 7, "in_turn": True, "ratio": 0.67,
        "finding": "too few", "sentence": "B/A is 0.67; no interval (n = 3)",
    }  # fmt: skip
    return comparison.Compared(**(values | changes))


def text(*lines, verbose=False, **changes):
    sides = {"a": Side(asked="x=1", trials=("t1",)), "b": Side(asked="x=2", trials=("t2", "t3"))}
    found = comparison.Comparison(compared=lines, **(sides | changes))
    return "\n".join(compare_text.compare_lines(found, verbose=verbose))


NOISY = NARROW.model_copy(update={"more": None, "outliers": ("01abc",)})
ALONE = "3,000 IOPS (2,990 IOPS to 3,010 IOPS, n = 10), CoV 1.0 %"


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        (NARROW, ALONE),
        (FEW, "2,000 IOPS, no interval (n = 3), CoV 5.0 %, measure 7 more machines, ten in all"),
        (NOISY, f"{ALONE}, too noisy for ±5 %, outliers: 01abc"),
    ],
    ids=["narrow", "few", "noisy"],
)
def test_a_figure_has_its_unit_and_its_interval_or_what_it_lacks(figure, told):
    assert replicated_text(figure, figure_text("iops")) == told
    assert figure_text("p99_ns")(1_500_000) == "1.50 ms"
    assert figure_text("bytes_per_s")(102_600_000) == "103 MB/s"


def test_a_doubt_of_all_lines_of_a_block_is_told_once():
    shown = text(
        a_line(doubts=("not in turn", "mixed kernels")),
        a_line(step="seq", doubts=("not in turn",)),
        a_line(block="aws gp3", doubts=("not in turn",)),
    )
    assert shown.count("! not in turn") == 2
    assert shown.count("! rand read: mixed kernels") == 1


def test_what_sets_the_sides_apart_stands_above_the_lines():
    many = Difference(fact="zone", a=tuple("abcdefgh"), b=("–",))
    shown = text(a_line(differences=(KERNEL,)), a_line(step="seq", differences=(KERNEL, many)))
    assert "differ in kernel 6.1 → 6.5; zone a, b, c, d, e, f and 2 more → –" in shown
    assert shown.index("differ in") < shown.index("rand read")


def test_several_tests_are_said_to_be_judged_together():
    assert "1 comparison" not in text(a_line(q=0.01), verbose=True)
    two = (a_line(q=0.01), a_line(step="b", q=0.3))
    assert "2 comparisons" in text(*two, verbose=True)


def test_what_was_not_compared_is_told_with_its_reason_and_no_line_is_too_long():
    why = "only A measured it, " + "and so on " * 12
    left = comparison.NotCompared(block="aws gp3", why=why)
    shown = text(a_line(step="a-step-with-a-very-long-name" * 3), not_compared=(left,))
    assert "not compared\n  aws gp3: only A measured it" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_table_has_a_row_for_each_figure_and_names_a_step_once():
    shown = text(
        a_line(finding="differs", p=0.002, interval=Interval(low=0.6, high=0.7, coverage=0.98)),
        a_line(metric="p99_ns", finding="noise", p=0.4, ratio=1.02),
        a_line(step="seq", finding="alike", p=0.4, ratio=1.0),
    )
    assert shown.count("rand read") == 1
    rows = [line for line in shown.splitlines() if line.endswith(("0.002", "0.400"))]
    assert [row.split()[-1] for row in rows] == ["0.002", "0.400", "0.400"]
    assert rows[0].split()[-6:] == ["−33", "%", "−40", "to", "−30", "0.002"]
    assert rows[1].split()[0] == "p99"
    assert shown.splitlines()[-1].startswith("~ ")


FIGURES = st.floats(1, 1e7)


@given(FIGURES, FIGURES, st.floats(0.1, 10), st.sampled_from(["too few", "noise", "differs"]))
def test_the_change_beside_two_figures_is_theirs(a, b, ratio, finding):
    sides = [NARROW.model_copy(update={"median": median}) for median in (a, b)]
    shown = text(a_line(a=sides[0], b=sides[1], ratio=ratio, finding=finding))
    (head,) = [line for line in shown.splitlines() if line.startswith("step ")]
    (row,) = [line for line in shown.splitlines() if line.startswith("rand read")]
    columns = [name for name in re.split(r" {2,}", head) if name][1:]
    cells = dict(zip(columns, re.split(r" {2,}", row)[2:], strict=True))
    assert cells["change"].removeprefix("? ").removeprefix("~ ") == percent(b / a)
    if percent(ratio) != percent(b / a):
        assert cells["in pairs"].endswith(percent(ratio))
    else:
        assert "in pairs" not in cells


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(day):
    return f"2026-11-{day:02d}T03:30:00.000000+00:00"


def history(values, *changes, visible=0.05, block="aws gp2"):
    points = tuple(
        HistoryPoint(at=at(day), campaign_id=f"c{day}", value=value, trials=3)
        for day, value in enumerate(values, 1)
    )
    return History(
        block=block, step="rand", direction="read", metric="iops", points=points, changes=changes,
        noise=0.012, span=0.2, visible=visible,
    )  # fmt: skip


def change(size, **more):
    values = {
        "at": at(5), "before": at(4), "median_before": 3000, "median_after": 3000 * (1 + size),
        "change": size, "regression": size < 0, "p": 1e-6, "since": 4,
    }  # fmt: skip
    return LevelChange(**(values | more))


KERNEL = Difference(fact="kernel", a=("6.1",), b=("6.5",))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (history([3000] * 4 + [2400] * 4, change(-0.2, differences=(KERNEL,))),
         ["aws gp2, rand read: measured 8 times", "2026-11-05 ",
          "worse: 3,000 IOPS → 2,400 IOPS (−20.0 %), measured 4 times since",
          "what changed with it: kernel 6.1 → 6.5"]),
        (history([3000] * 9, change(0.1)), ["better: 3,000 IOPS → 3,300 IOPS (+10.0 %)"]),
        (history([3000] * 9),
         ["no change in 9 measurements; a change of 5 % or more would have been"]),
        (history([3000] * 3, visible=None), ["measured 3 times; at least six"]),
    ],
    ids=["worse", "better", "none", "too few"],
)  # fmt: skip
def test_a_history_tells_its_change_or_what_would_be_seen(found, told):
    shown = " ".join(" ".join(compare_text.regression_lines([found])).split())
    assert all(words in shown for words in told), shown


def test_the_largest_change_comes_first_and_what_did_not_change_last():
    small = history([1] * 9, change(-0.06), block="small")
    large = history([1] * 9, change(0.5), block="large")
    calm = history([1] * 9, block="calm")
    lines = list(compare_text.regression_lines([calm, small, large]))
    shown = "\n".join(lines)
    assert shown.index("large") < shown.index("small") < shown.index("calm")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("marks", "trials", "warned"),
    [(("emulated",), 10, True), (("emulated",), 1, False), ((), 10, False)],
)
def test_emulated_replicates_are_said_to_share_a_machine(marks, trials, warned):
    found = Replicates(asked="x", trials=trials, marks=marks, lines=())
    lines = list(compare_text.replicate_lines(found))
    assert any("physical machine" in line for line in lines) == warned
    assert all(len(line) <= 80 for line in lines)
