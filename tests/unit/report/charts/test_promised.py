import pytest
from tests.rigs.drawn import marks_in, rows_in
from tests.unit.report.charts.points import own, point

from diskbench.report.charts.figure import picture
from diskbench.report.charts.promised import beside_promise, promised_chart, ratio

GP2 = {"promised": (100.0, 100.0, 100.0), "burst": 3000.0, "promised_by": "AWS, 2023-05-11"}
ON_CREDIT = GP2 | {"on_credit": True}


def chart(*points):
    return promised_chart(points, name="p", heading="IOPS")


@pytest.mark.parametrize(
    ("value", "promise", "words"),
    [
        (3634.0, ON_CREDIT, "3,634 of 3,000 burst (1.21×)"),
        (98.0, GP2, "98.0 of 100 (0.98×)"),
        (1106.0, {"promised": (1100.0,) * 3}, "1,106 of 1,100 (1.01×)"),
    ],
    ids=["on credit", "what lasts", "the post"],
)
def test_a_figure_on_credit_is_held_against_the_burst_and_any_other_against_what_lasts(
    value, promise, words
):
    one = point("a disk", value, **promise)
    assert beside_promise(one) == words
    kept = int(ratio(one) >= 0.95)
    told = f"IOPS: {kept} of 1 give at least 95 % of the promise: a disk {words}."
    assert chart(one).alt == told


def test_marks_tell_the_promise_its_source_and_the_ratio():
    ours = own(value=2000.0, run="01mine", **ON_CREDIT)
    marks = marks_in(picture(chart(ours), "svg").decode())
    (told,) = [words for words in marks if words.startswith("run 01mine")]
    assert "promised 100 IOPS, burst 3,000 IOPS by AWS, 2023-05-11" in told
    assert told.endswith("2,000 of 3,000 burst (0.67×)")


def test_numbers_drawn_are_those_given():
    rows = rows_in(chart(point(value=210.0, promised=(213.0, 190.0, 384.0))))
    row = next(one for one in rows if one.get("promise") == 213)
    assert (row["value"], row["promise_low"], row["promise_high"]) == (210, 190, 384)


def test_several_machines_in_one_row_are_told_by_their_median_and_interval():
    rows = rows_in(chart(*(own(value=90.0 + n, run=f"r{n}", **GP2) for n in range(7))))
    assert [one["text"] for one in rows if "text" in one] == ["93.0 of 100 (0.93×), n = 7"]
    (interval,) = [one for one in rows if "95 % interval" in one.get("description", "")]
    assert (interval["row"], interval["low"], interval["high"]) == ("gp2", 90.0, 96.0)
