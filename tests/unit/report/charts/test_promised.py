import pytest
from tests.rigs.drawn import marks_in, rows_in
from tests.unit.report.charts.points import own, point

from diskbench.report.charts.figure import picture
from diskbench.report.charts.palette import PICTURE
from diskbench.report.charts.promised import ChartPromise, FigureBesidePromise, promised_chart

GP2 = ChartPromise(100.0, 100.0, 100.0, burst=3000.0, source="AWS, 2023-05-11")


def test_a_figure_on_credit_is_held_against_the_burst_and_any_other_against_what_lasts():
    assert (
        FigureBesidePromise(point(value=3634.0), GP2, on_credit=True).words
        == "3,634 of 3,000 burst (1.21×)"
    )
    assert FigureBesidePromise(point(value=98.0), GP2).words == "98.0 of 100 (0.98×)"


def test_the_post_and_its_1100_iops():
    held = FigureBesidePromise(point("Premium 256", 1106.0), ChartPromise(1100.0, 1100.0, 1100.0))
    figure = promised_chart([held], PICTURE, name="p", heading="IOPS")
    assert held.ratio == pytest.approx(1.00545, abs=1e-4)
    assert (
        "1 of 1 give at least 95 % of the promise: Premium 256 1,106 of 1,100 (1.01×)" in figure.alt
    )


def test_marks_tell_the_promise_its_source_and_the_ratio():
    held = [FigureBesidePromise(own(value=2000.0, run="01mine"), GP2, on_credit=True)]
    marks = marks_in(picture(promised_chart(held, PICTURE, name="p", heading="P"), "svg").decode())
    (ours,) = [words for words in marks if words.startswith("run 01mine")]
    assert "promised 100 IOPS, burst 3,000 IOPS by AWS, 2023-05-11" in ours
    assert ours.endswith("2,000 of 3,000 burst (0.67×)")


def test_numbers_drawn_are_those_given():
    held = [
        FigureBesidePromise(
            point(value=210.0), ChartPromise(213.0, 190.0, 384.0), interval=(200.0, 220.0)
        )
    ]
    rows = rows_in(promised_chart(held, PICTURE, name="p", heading="P"))
    row = next(one for one in rows if "promise" in one)
    assert (row["value"], row["promise"]) == (210, 213)
    assert (row["promise_low"], row["promise_high"]) == (190, 384)
    assert {"row": "gp2", "span_low": 200.0, "span_high": 220.0} in rows


def test_several_machines_in_one_row_are_told_by_their_median_and_interval():
    held = [FigureBesidePromise(own(value=90.0 + n, run=f"r{n}"), GP2) for n in range(7)]
    rows = rows_in(promised_chart(held, PICTURE, name="p", heading="P"))
    assert [one["text"] for one in rows if "text" in one] == ["93.0 of 100 (0.93×), n = 7"]
    assert any((one.get("span_low"), one.get("span_high")) == (90.0, 96.0) for one in rows)
