from dataclasses import replace

import pytest
from tests.unit.report.charts.points import own, point

from diskbench.report.charts.point import machine_values, sample_words, subtitle

TEN, NONE = "mean of n = 10 runs", "no interval (n = 1 machine)"
SIX = "bracket: 95 % interval of the median over n = 6 machines"


def test_a_mark_says_run_place_values_n_and_doubt():
    place, span = {"region": "us-east-1", "instance": "c5.large"}, {"low": 2400.0, "high": 2600.0}
    assert own(**place, **span, marks=("emulated",), doubt="on credit").description == (
        "run 01aaa · gp2 · AWS us-east-1 c5.large · 2,500 IOPS · 2,400 IOPS to 2,600 IOPS · "
        "mean of n = 3 runs · emulated · doubted: on credit"
    )
    ids = tuple(f"r{n:02d}" for n in range(40))
    assert own(run_ids=ids).description.startswith("run r00 to r39 (40 runs) · gp2")


def test_six_machines_make_an_interval_and_five_or_runs_of_one_machine_do_not():
    points = [own(value=float(v), run=f"r{v}") for v in range(1, 7)]
    assert machine_values(points) == [1, 2, 3, 4, 5, 6]
    assert SIX in sample_words([replace(one, key="gp2") for one in points])
    assert "no interval" in sample_words([replace(one, key="gp2") for one in points[:5]])
    of_one = [own(value=float(v), run=f"r{v}", machine="same") for v in range(1, 20)]
    assert machine_values(of_one) == [10]


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([point(), point("io1")], f"published: {TEN}, no interval (n = 1 machine each)"),
        ([own()], f"mean of n = 3 runs, {NONE}"),
        ([own(n=1)], f"n = 1 run, {NONE}"),
        ([point(n=None, statistic="stated")], f"published: stated, n not stated, {NONE}"),
        ([point(), *(own(run=f"r{i}", value=float(i)) for i in range(6))],
         f"published: {TEN}, {NONE}; yours: mean of n = 3 runs, {SIX}"),
    ],
)  # fmt: skip
def test_a_chart_says_n_and_its_interval_or_that_there_is_none(points, words):
    assert sample_words(points) == words


def test_what_is_doubted_or_emulated_is_said_above_the_chart():
    words = subtitle([point(doubt="burst"), own(marks=("emulated",))], "IOPS")
    assert words.endswith("; hollow: doubted; yours: emulated")
