import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.report.terminal.percentile_plot import plot_percentiles
from diskbench.report.terminal.text_plot import Screen

PLAIN = Screen(width=80)
MS = 1_000_000


def rows(*buckets, direction="read", kind="lat"):
    return [
        {"direction": direction, "kind": kind, "latency_ns": ns, "count": count}
        for ns, count in buckets
    ]


def first_column_of(drawn, row):
    """Where the curve begins in a row of the plot, as a share of its width."""
    inside = drawn.splitlines()[2 + row][1 : 1 + PLAIN.plot_width].replace("│", " ")
    return (len(inside) - len(inside.lstrip())) / PLAIN.plot_width


def test_a_tail_begins_at_the_share_of_io_that_is_faster():
    # 1 % of 10,000 are slow: they begin at 99 %, which is two of the four nines of the axis.
    drawn = plot_percentiles("step", rows((MS, 9_900), (100 * MS, 100)), PLAIN)
    assert first_column_of(drawn, 0) == pytest.approx(0.5, abs=0.02)


def test_shares_are_written_below_where_they_stand():
    drawn = plot_percentiles("step", rows((MS, 9_900), (100 * MS, 100)), PLAIN)
    axis = drawn.splitlines()[-1]
    assert [part.strip() for part in axis.split("%")] == ["0", "90", "99", "99.9", "99.99", ""]
    assert (axis.index("99 %") + 2) / PLAIN.plot_width == pytest.approx(0.5, abs=0.03)


def test_the_unit_is_one_that_a_person_reads():
    assert "latency ms" in plot_percentiles("step", rows((MS, 50), (5 * MS, 50)), PLAIN)
    assert "latency µs" in plot_percentiles("step", rows((90_000, 50), (99_000, 50)), PLAIN)


def test_total_latency_is_drawn_where_fio_kept_it():
    both = [*rows((MS, 50)), *rows((MS, 50), kind="clat")]
    assert "step: latency" in plot_percentiles("step", both, PLAIN)
    assert "completion" in plot_percentiles("step", rows((MS, 50), kind="clat"), PLAIN)


def test_too_few_io_have_no_tail():
    assert plot_percentiles("step", rows((MS, 9)), PLAIN) == ""
    assert plot_percentiles("step", [], PLAIN) == ""


def test_calls_of_fsync_are_no_curve_beside_io():
    both = [*rows((MS, 50)), *rows((MS, 50), direction="sync")]
    assert "sync" not in plot_percentiles("step", both, PLAIN)


buckets = st.lists(
    st.tuples(st.integers(100, 10**11), st.integers(0, 10**9)), min_size=1, max_size=40
)


@given(buckets, st.integers(40, 160))
def test_whatever_was_measured_fits_the_screen(found, width):
    for screen in (Screen(width=width), Screen(width=width, unicode=False)):
        drawn = plot_percentiles("step", rows(*found), screen)
        assert max(map(len, drawn.splitlines()), default=0) <= width
        assert screen.unicode or drawn.isascii()
