import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from diskbench.model.phase import Cliff
from diskbench.report.terminal import plots
from diskbench.report.terminal.plots import Screen, plot_percentiles, plot_seconds
from diskbench.report.terminal.screen import hanging, sparkline


def second(n, iops, *, step="a", index=0, direction="read"):
    return {"step": step, "step_index": index, "second": n, "direction": direction, "iops": iops}


def test_idle_directions_and_earlier_rounds_of_a_step_are_left_out_and_seconds_without_io_stay():
    rows = [second(1, 0.0), second(0, 5.0), second(0, 0.0, direction="write")]
    assert plots.step_seconds(rows) == {"a": {"read": [(0, 5.0), (1, 0.0)]}}
    rows = [second(0, 1.0, index=1), second(0, 9.0, step="b", index=2), second(0, 2.0, index=3)]
    found = plots.step_seconds(rows)
    assert [(name, of["read"][0][1]) for name, of in found.items()] == [("b", 9.0), ("a", 2.0)]


PLAIN = Screen(width=80)


def step(*iops, **directions):
    series = {"read": iops, **directions} if iops else directions
    return "burst", {d: tuple(enumerate(values)) for d, values in series.items()}


def test_a_cliff_is_marked_where_it_is_and_told_in_words():
    # The vertical line is seen where the curve does not hide it.
    series = step(*[3000.0] * 60, *[100.0] * 60)
    cliff = Cliff(at_s=90, before=3000, after=100, credits=1)
    drawn = plot_seconds(*series, PLAIN, cliffs=[cliff])
    *_, told = drawn.splitlines()
    assert told == "│ cliff at 1:30: 3,000 → 100"
    inside = [line[1 : 1 + PLAIN.plot_width] for line in drawn.splitlines()[2:-3]]
    (place,) = {row.index("│") for row in inside if "│" in row}
    assert place == pytest.approx(90 / 119 * PLAIN.plot_width, abs=1)


def test_when_credit_was_to_run_out_is_told_below_unless_the_step_was_shorter():
    series = step(*[3000.0] * 60, *[100.0] * 60)
    foreseen = plot_seconds(*series, PLAIN, foreseen_s=62.4).splitlines()[-1]
    assert foreseen == "  predicted: credit runs out at 1:02"
    assert "predicted" not in plot_seconds(*series, PLAIN, foreseen_s=1862.0)
    assert "predicted" not in plot_seconds(*series, PLAIN)


def test_what_falls_to_nothing_reaches_the_lowest_row():
    drawn = plot_seconds(*step(*[100.0] * 30, *[0.0] * 30), PLAIN).splitlines()
    second_half = slice(PLAIN.plot_width // 2 + 2, PLAIN.plot_width)
    (frame,) = (i for i, line in enumerate(drawn) if line.startswith("└"))
    assert not drawn[2][second_half].strip()
    assert drawn[frame - 1][second_half].strip()


@example(width=40, values=[0.0, 0.0, 1e-249])
@given(width=st.integers(40, 200), values=st.lists(st.floats(0, 1e7), min_size=3, max_size=90))
def test_no_line_is_wider_than_the_screen(width, values):
    for unicode in (True, False):
        screen = Screen(width=width, unicode=unicode)
        drawn = plot_seconds(*step(*values, write=tuple(values)), screen)
        assert max(map(len, drawn.splitlines())) <= width


def test_letters_beyond_ascii_and_colours_are_only_drawn_where_they_may_be():
    cliff = Cliff(at_s=5, before=300, after=1, credits=1)
    screen = Screen(width=80, unicode=False)
    drawn = plot_seconds(*step(*range(20), write=range(20)), screen, cliffs=[cliff])
    assert drawn.isascii()
    assert "read" in drawn
    assert "write" in drawn
    assert "\x1b" not in plot_seconds(*step(*range(9)), PLAIN)
    assert "\x1b[36m" in plot_seconds(*step(*range(9)), Screen(colour=True))


@pytest.mark.parametrize("values", [(), (5.0,), (5.0, 6.0), (0.0, 0.0, 0.0)])
def test_three_seconds_or_more_are_a_course_even_of_nothing(values):
    assert ("0" in plot_seconds(*step(*values), PLAIN)) == (len(values) == 3)


MS = 1_000_000


def rows(*buckets, direction="read", kind="lat"):
    return [
        {"direction": direction, "kind": kind, "latency_ns": ns, "count": count}
        for ns, count in buckets
    ]


def test_a_tail_begins_at_the_share_of_io_that_is_faster_and_shares_stand_below_their_place():
    # 1 % of 10,000 are slow: they begin at 99 %, which is two of the four nines of the axis.
    drawn = plot_percentiles("step", rows((MS, 9_900), (100 * MS, 100)), PLAIN).splitlines()
    inside, axis = drawn[2][1 : 1 + PLAIN.plot_width].replace("│", " "), drawn[-1]
    begin = (len(inside) - len(inside.lstrip())) / PLAIN.plot_width
    assert begin == pytest.approx(0.5, abs=0.02)
    assert [part.strip() for part in axis.split("%")] == ["0", "90", "99", "99.9", "99.99", ""]
    assert (axis.index("99 %") + 2) / PLAIN.plot_width == pytest.approx(0.5, abs=0.03)


CLAT, SYNC = rows((MS, 50), kind="clat"), rows((MS, 50), direction="sync")


TAILS = {
    "latency ms": rows((MS, 50), (5 * MS, 50)),
    "latency µs": rows((90_000, 50), (99_000, 50)),
    "step: latency": [*rows((MS, 50)), *CLAT],
    "completion": CLAT,
}


@pytest.mark.parametrize("told", TAILS)
def test_a_tail_says_its_unit_and_which_latency_it_is(told):
    assert told in plot_percentiles("step", TAILS[told], PLAIN)


def test_too_few_io_and_calls_of_fsync_have_no_tail():
    assert plot_percentiles("step", rows((MS, 9)), PLAIN) == ""
    assert plot_percentiles("step", [], PLAIN) == ""
    assert "sync" not in plot_percentiles("step", [*rows((MS, 50)), *SYNC], PLAIN)


buckets = st.lists(
    st.tuples(st.integers(100, 10**11), st.integers(0, 10**9)), min_size=1, max_size=40
)


@given(buckets, st.integers(40, 160))
def test_whatever_was_measured_fits_the_screen(found, width):
    for screen in (Screen(width=width), Screen(width=width, unicode=False)):
        drawn = plot_percentiles("step", rows(*found), screen)
        assert max(map(len, drawn.splitlines()), default=0) <= width
        assert screen.unicode or drawn.isascii()


def step_of(name, **directions):
    return {name: {d: tuple(enumerate(values)) for d, values in directions.items()}}


def test_a_direction_of_a_step_is_a_line_of_blocks_with_its_lowest_and_highest_second():
    (line,) = plots.second_lines(step_of("burst", read=[3000.0, 3000.0, 100.0]))
    assert line == f"burst read {'██▁':<40}  100 to 3,000"
    lines = plots.second_lines(step_of("mix", read=[1.0] * 5, write=[2.0] * 5))
    assert [line.split()[1] for line in lines] == ["read", "write"]
    assert plots.second_lines(step_of("fill", write=[5.0, 5.0])) == [], "a short step has none"


names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=60)


@given(names, st.lists(st.floats(0, 1e7), min_size=3, max_size=200), st.integers(70, 200))
def test_no_sparkline_is_wider_than_the_screen(name, values, width):
    assert max(map(len, plots.second_lines(step_of(name, read=values), width=width))) <= width


def test_further_lines_hang_below_the_first_and_no_path_is_broken():
    told = hanging("name  ", "one two three four five six", width=26)
    assert told == "name  one two three four\n      five six"
    path = "/var/" + "long-" * 20
    assert path in hanging("at  ", f"it lies in {path}", width=40).split()
    assert hanging("notes  ", "") == "notes"


words = st.lists(st.text("abc-", min_size=1, max_size=12), min_size=1, max_size=40)


@given(words, st.integers(40, 120))
def test_words_are_kept_in_order_and_lines_fit(found, width):
    folded = hanging("label  ", " ".join(found), width=width)
    assert folded.split() == ["label", *found]
    assert max(map(len, folded.splitlines())) <= width


rates = st.lists(st.floats(0, 1e9), max_size=200)


@given(rates, st.integers(1, 60))
def test_it_is_never_wider_than_asked(values, width):
    assert len(sparkline(values, width=width)) == min(len(values), width)


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=20))
def test_the_highest_value_is_a_full_block(values):
    assert "█" in sparkline(values)


@pytest.mark.parametrize(
    ("values", "blocks"),
    [([100, 100, 50, 50], "██▅▅"), ([10] * 50 + [0] * 50, "██▁▁"), ([0, 0, 0], "▁▁▁"), ([], "")],
    ids=["half", "many are averaged", "flat", "nothing"],
)
def test_blocks_are_as_high_as_their_values(values, blocks):
    assert sparkline(values, width=4) == blocks
