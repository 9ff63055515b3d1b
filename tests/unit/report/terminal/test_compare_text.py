from diskbench.model.comparison import (
    Compared,
    Comparison,
    Difference,
    Interval,
    NotCompared,
    Replicated,
    Side,
)
from diskbench.report.terminal.compare_text import compare_lines, figure_text, replicated_text

NARROW = Replicated(
    trials=10, machines=10, median=3000, low=2900, high=3100, variation=0.01, more=0,
    interval=Interval(low=2990, high=3010, coverage=0.979),
)  # fmt: skip
FEW = Replicated(trials=3, machines=3, median=2000, low=1900, high=2100, variation=0.05, more=7)
IOPS = figure_text("iops")


def a_line(**changes):
    values = {
        "block": "aws gp2", "step": "rand", "direction": "read", "metric": "iops", "a": NARROW,
        "b": FEW, "pairs": 3, "n": 3, "unpaired": 7, "in_turn": True, "ratio": 0.67,
        "finding": "too few", "sentence": "B/A is 0.67; no interval (n = 3)",
    }  # fmt: skip
    return Compared(**(values | changes))


def text(*lines, **changes):
    sides = {"a": Side(asked="x=1", trials=("t1",)), "b": Side(asked="x=2", trials=("t2", "t3"))}
    return "\n".join(compare_lines(Comparison(compared=lines, **(sides | changes))))


def test_a_narrow_interval_needs_no_more_words():
    told = replicated_text(NARROW, IOPS)
    assert told == "3,000 IOPS (2,990 IOPS to 3,010 IOPS, n = 10), CoV 1.0 %"


def test_without_an_interval_the_words_stand_and_what_makes_ten():
    told = replicated_text(FEW, IOPS)
    assert told == "2,000 IOPS, no interval (n = 3), CoV 5.0 %, 7 more machines make ten"


def test_too_much_noise_and_outliers_are_named():
    noisy = NARROW.model_copy(update={"more": None, "outliers": ("01abc",)})
    assert replicated_text(noisy, IOPS).endswith("too noisy for ±5 %, far off: 01abc")


def test_latencies_and_rates_have_their_units():
    assert figure_text("p99_ns")(1_500_000) == "1.50 ms"
    assert figure_text("bytes_per_s")(102_600_000) == "103 MB/s"


def test_a_doubt_of_all_lines_of_a_block_is_told_once():
    shown = text(
        a_line(doubts=("not in turn", "mixed kernels")),
        a_line(step="seq", doubts=("not in turn",)),
        a_line(block="aws gp3", doubts=("not in turn",)),
    )
    assert shown.count("! not in turn") == 2
    assert shown.count("! mixed kernels") == 1


def test_what_sets_the_sides_apart_stands_above_the_lines():
    kernel = Difference(fact="kernel", a=("6.1",), b=("6.5",))
    many = Difference(fact="zone", a=tuple("abcdefgh"), b=("–",))
    shown = text(a_line(differences=(kernel,)), a_line(step="seq", differences=(kernel, many)))
    assert "differ in kernel 6.1 → 6.5; zone a, b, c, d, e, f and 2 more → –" in shown
    assert shown.index("differ in") < shown.index("rand read")


def test_several_tests_are_said_to_be_judged_together():
    assert "judged together" not in text(a_line(q=0.01))
    assert "2 comparisons were judged together" in text(a_line(q=0.01), a_line(step="b", q=0.3))


def test_what_was_not_compared_is_told_with_its_reason_and_no_line_is_too_long():
    left = NotCompared(block="aws gp3", why="only A measured it, " + "and so on " * 12)
    shown = text(a_line(), not_compared=(left,))
    assert "not compared\n  aws gp3: only A measured it" in shown
    assert max(map(len, shown.splitlines())) <= 80
