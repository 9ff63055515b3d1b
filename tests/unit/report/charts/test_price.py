import re
from itertools import combinations

import pytest
from tests.rigs.drawn import marks_in, rows_in
from tests.unit.report.charts.points import own, point

from diskbench.report.charts.figure import picture
from diskbench.report.charts.price import price_chart


def chart(priced):
    return price_chart(priced, name="p", heading="Prices", prices_of="2026")


def test_marks_tell_price_and_what_it_buys_and_latency_has_none():
    figure = chart([point("gp2", 2000.0, usd=2.0), own("io1", 1000.0, usd=67.5)])
    marks = marks_in(picture(figure, "svg").decode())
    assert any("gp2" in words and "$2.00 a month, $1.00 for 1,000 IOPS" in words for words in marks)
    assert any(words.startswith("run 01aaa") and "$67.50 a month" in words for words in marks)
    assert "gp2 costs least for 1,000 IOPS, $1.00 a month" in figure.alt
    rate = chart([point(metric="bytes_per_s", value=94e6, usd=67.5)])
    assert "costs least for 100 MB/s, $71.81 a month" in rate.alt
    with pytest.raises(ValueError, match="nothing is sold"):
        chart([point(metric="p99_ns", value=1e6, usd=2.0)])


def boxes(drawn):
    """Label → its left, top, right and bottom edge, of the labels that are to be seen."""
    label = re.compile(r'<text text-anchor="(\w+)" transform="translate\(([^,]+),([^)]+)\)"([^>]*)>'
                       r"(disk \d+)</text>")  # fmt: skip
    found = {}
    for anchor, x, y, style, text in label.findall(drawn):
        if 'opacity="0"' not in style:
            width = 5.0 * len(text)
            left = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
            found[text] = (left, float(y) - 9, left + width, float(y))
    return found


@pytest.mark.parametrize("apart", [0.001, 0.01, 0.1, 1.0])
def test_no_label_lies_over_another_and_those_without_room_are_left_out(apart):
    rates = [1000.0 * (1 + apart * (n % 5)) for n in range(20)]
    priced = [point(f"disk {n}", rate, usd=10 + apart * n) for n, rate in enumerate(rates)]
    found = boxes(picture(chart(priced), "svg", log=False).decode())
    assert 1 <= len(found) <= 20
    for a, b in combinations(found.values(), 2):
        assert not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3])


def test_every_disk_with_room_has_its_label_and_two_trials_of_one_disk_share_it():
    priced = [point(f"disk {n % 3}", 1000.0 * n, usd=10.0 * n) for n in range(1, 7)]
    found = boxes(picture(chart(priced), "svg").decode())
    assert set(found) == {"disk 0", "disk 1", "disk 2"}


def test_own_disks_are_told_apart_only_from_published_ones():
    mine = own("mine", 1000.0, usd=67.5)
    for points, words in (([mine], "mine"), ([point(usd=2.0), mine], "mine (yours)")):
        assert words in {row.get("text") for row in rows_in(chart(points))}
