"""The charts of one trial, step by step."""

import pytest
from tests.unit.report.made import row

from diskbench.report.assemble.lines import lines
from diskbench.report.charts.summary import latency_chart, rate_charts, summary_picture


@pytest.mark.parametrize(
    ("ids", "counted"), [(["a"], "n = 1 run"), (["a", "b"], "median of n = 2 runs")]
)
def test_both_say_their_sample_and_that_there_is_no_interval(ids, counted):
    found = lines([row(run_id=one) for one in ids])
    for figure in (*rate_charts(found), latency_chart(found)):
        assert counted in figure.subtitle
        assert figure.subtitle.endswith("no interval (n = 1 machine)")


def bars(figure):
    """The rows that a chart draws as bars."""
    return figure.on()["layer"][0]["data"]["values"]


def test_steps_in_large_blocks_have_an_axis_of_their_own_in_mb_per_s():
    large = {"iops": 120.0, "bytes_per_s": 120.0 * 2**20}
    rows = [row("rand-read-4k"), row("seq-read-1m", step_index=3, **large)]
    iops, throughput = rate_charts(lines(rows))
    assert [one.id for one in (iops, throughput)] == ["iops", "throughput"]
    shown = [bars(one) for one in (iops, throughput)]
    labels = [[bar["label"] for bar in found] for found in shown]
    assert labels == [["rand-read-4k"], ["seq-read-1m"]]
    assert shown[1][0]["rate"] == large["bytes_per_s"]
    assert len(rate_charts(lines(rows[:1]))) == 1


def test_a_long_heading_of_the_picture_is_folded():
    spec = summary_picture(
        "A look", " · ".join(["/dev/disk/by-id/nvme-of-somebody"] * 9), lines([row()])
    )
    assert max(map(len, spec["title"]["subtitle"])) <= 100
    assert len(spec["title"]["subtitle"]) >= 3
