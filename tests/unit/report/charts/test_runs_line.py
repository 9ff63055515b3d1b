from tests.rigs.drawn import rows_in

from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.runs_line import cliff, runs_chart


def line(*values, source="measured", **changes):
    numbers = tuple(range(1, len(values) + 1))
    return ChartPoint("gp2", "iops", values[0], source, values=values, numbers=numbers, **changes)


OURS = line(3000.0, 2990.0, 100.0, run_ids=("r1", "r2", "r3"))


def chart(lines, **more):
    return runs_chart(lines, name="runs", heading="gp2", **more)


def test_predicted_published_and_found_cliffs_are_told_apart_in_words():
    cliffs = [
        cliff(2, "predicted"), cliff(3, "measured"), cliff(4, "published"),
        cliff(9, "predicted", of="yours"),
    ]  # fmt: skip
    figure = chart([OURS], cliffs=cliffs)
    labels = {row["text"] for row in rows_in(figure) if "text" in row}
    told = {"predicted: run 2", "found: run 3", "the post: run 4", "predicted: run 9 (yours)"}
    assert labels == told
    assert "found: run 3" in figure.alt


def test_what_a_post_states_of_a_stretch_is_a_level_and_no_series_of_points():
    stated = line(*[300.0] * 4, *[80.0] * 6, source="published")
    spec = chart([stated]).on()
    (line_,) = [one for one in spec["vconcat"][0]["layer"] if one["mark"]["type"] == "line"]
    ends = [(row["line"], row["run"]) for row in line_["data"]["values"]]
    assert ends == [("0.0", 0.6), ("0.0", 4.4), ("0.1", 4.6), ("0.1", 10.4)]


def test_it_says_n_and_a_fall_of_more_than_two_decades_is_drawn_logarithmic_first():
    words = chart([OURS]).subtitle
    assert "n = 3 runs of one machine" in words
    assert "no interval (n = 1 machine)" in words
    assert chart([line(9000.0, 50.0)]).log
    assert not chart([OURS]).log
