import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.drawn import marks_in, rows_in
from tests.unit.report.charts.points import own, point

from diskbench.report.charts.figure import picture
from diskbench.report.charts.measure import CHARACTER_PX
from diskbench.report.charts.palette import PICTURE
from diskbench.report.charts.price import HEIGHT_PX, Dot, Priced, place, price_chart


def chart(priced):
    return price_chart(priced, PICTURE, name="p", heading="Prices", prices_of="2026")


def test_a_price_for_a_thousand_iops():
    assert Priced(point(value=3634.0), 2.0).per == pytest.approx(0.5504, abs=1e-4)
    assert Priced(point(metric="bytes_per_s", value=94e6), 67.5).per == pytest.approx(
        71.81, abs=0.01
    )
    assert Priced(point(value=0.0), 2.0).per == float("inf")


def test_marks_tell_price_and_what_it_buys():
    figure = chart([Priced(point("gp2", 2000.0), 2.0), Priced(own("io1", 1000.0), 67.5)])
    marks = marks_in(picture(figure, "svg").decode())
    assert any("gp2" in words and "$2.00 a month, $1.00 for 1,000 IOPS" in words for words in marks)
    assert any(words.startswith("run 01aaa") and "$67.50 a month" in words for words in marks)
    assert "gp2 costs least for 1,000 IOPS, $1.00 a month" in figure.alt


def test_dots_stand_at_their_price_and_figure():
    priced = [Priced(point(f"d{n}", 10.0**n), float(n)) for n in range(1, 5)]
    drawn = {(r["usd"], r["value"]) for r in rows_in(chart(priced)) if "label" in r}
    assert drawn == {(float(n), 10.0**n) for n in range(1, 5)}
    assert chart(priced).log_first


def test_latency_has_no_price():
    with pytest.raises(ValueError, match="nothing is sold"):
        chart([Priced(point(metric="p99_ns", value=1e6), 2.0)])


def box(dot, spot):
    width = CHARACTER_PX * len(dot.text)
    left = {"left": spot.x, "right": spot.x - width, "center": spot.x - width / 2}[spot.align]
    return left, spot.y - HEIGHT_PX / 2, left + width, spot.y + HEIGHT_PX / 2


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Dot, st.floats(0, 330), st.floats(0, 260), st.text("abc", min_size=1, max_size=30)
        ),
        max_size=25,
    )
)
def test_no_label_lies_over_another_or_over_a_dot(dots):
    spots = place(dots, width=330, height=260)
    boxes = [box(d, s) for d, s in zip(dots, spots, strict=True) if s is not None]
    for n, a in enumerate(boxes):
        assert a[1] >= 0
        assert a[3] <= 260
        for b in boxes[n + 1 :]:
            assert not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3])
        for dot in dots:
            assert not (a[0] < dot.x < a[2] and a[1] < dot.y < a[3])


def test_a_dot_alone_has_its_label_to_the_right():
    (spot,) = place([Dot(50, 50, "gp2")], width=330, height=260)
    assert spot is not None
    assert (spot.align, spot.y) == ("left", 50)
