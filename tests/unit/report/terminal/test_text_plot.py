import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from diskbench.model.phase import Cliff
from diskbench.report.assemble.seconds import StepSeconds
from diskbench.report.terminal.text_plot import Screen, plot_seconds

PLAIN = Screen(width=80)
ASCII = Screen(width=80, unicode=False)


def step(*iops, **directions):
    series = {"read": iops, **directions} if iops else directions
    return StepSeconds("burst", {d: tuple(enumerate(values)) for d, values in series.items()})


def test_a_cliff_is_marked_where_it_is_and_told_in_words():
    # The vertical line is seen where the curve does not hide it.
    series = step(*[3000.0] * 60, *[100.0] * 60)
    cliff = Cliff(at_s=90, before=3000, after=100, credits=1)
    drawn = plot_seconds(series, PLAIN, cliffs=[cliff])
    *_, told = drawn.splitlines()
    assert told == "│ cliff at 1:30: 3,000 → 100"
    inside = [line[1 : 1 + PLAIN.plot_width] for line in drawn.splitlines()[2:-3]]
    (place,) = {row.index("│") for row in inside if "│" in row}
    assert place == pytest.approx(90 / 119 * PLAIN.plot_width, abs=1)


def test_when_credit_was_to_run_out_is_told_below_unless_the_step_was_shorter():
    series = step(*[3000.0] * 60, *[100.0] * 60)
    foreseen = plot_seconds(series, PLAIN, foreseen_s=62.4).splitlines()[-1]
    assert foreseen == "  the plan foresaw that credit runs out at 1:02"
    assert "foresaw" not in plot_seconds(series, PLAIN, foreseen_s=1862.0)
    assert "foresaw" not in plot_seconds(series, PLAIN)


def test_what_falls_to_nothing_reaches_the_lowest_row():
    drawn = plot_seconds(step(*[100.0] * 30, *[0.0] * 30), PLAIN).splitlines()
    second_half = slice(PLAIN.plot_width // 2 + 2, PLAIN.plot_width)
    (frame,) = (i for i, line in enumerate(drawn) if line.startswith("└"))
    assert not drawn[2][second_half].strip()
    assert drawn[frame - 1][second_half].strip()


@example(width=40, values=[0.0, 0.0, 1e-249])
@given(width=st.integers(40, 200), values=st.lists(st.floats(0, 1e7), min_size=3, max_size=90))
def test_no_line_is_wider_than_the_screen(width, values):
    for unicode in (True, False):
        screen = Screen(width=width, unicode=unicode)
        drawn = plot_seconds(step(*values, write=tuple(values)), screen)
        assert max(map(len, drawn.splitlines())) <= width


def test_a_screen_without_letters_beyond_ascii_gets_none():
    cliff = Cliff(at_s=5, before=300, after=1, credits=1)
    drawn = plot_seconds(step(*range(20), write=range(20)), ASCII, cliffs=[cliff])
    assert drawn.isascii()
    assert "read" in drawn
    assert "write" in drawn


def test_colours_are_only_drawn_where_they_may_be():
    assert "\x1b" not in plot_seconds(step(*range(9)), PLAIN)
    assert "\x1b[36m" in plot_seconds(step(*range(9)), Screen(colour=True))


@pytest.mark.parametrize("values", [(), (5.0,), (5.0, 6.0)])
def test_less_than_three_seconds_are_no_course(values):
    assert plot_seconds(step(*values), PLAIN) == ""


def test_a_step_that_did_nothing_after_all_is_drawn_at_zero():
    assert "0" in plot_seconds(step(0.0, 0.0, 0.0), PLAIN)
