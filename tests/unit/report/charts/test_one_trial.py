"""The charts of one trial, step by step."""

import pytest
from tests.unit.report.made import row

from diskbench.report.assemble.lines import lines
from diskbench.report.charts import PICTURE, iops_chart, latency_chart, summary_picture


@pytest.mark.parametrize(
    ("ids", "counted"), [(["a"], "n = 1 run"), (["a", "b"], "median of n = 2 runs")]
)
def test_both_say_their_sample_and_that_there_is_no_interval(ids, counted):
    found = lines([row(run_id=one) for one in ids])
    for figure in (iops_chart(found, PICTURE), latency_chart(found, PICTURE)):
        assert counted in figure.subtitle
        assert figure.subtitle.endswith("no interval (n = 1 machine)")


def test_a_long_heading_of_the_picture_is_folded():
    spec = summary_picture(
        "A look", " · ".join(["/dev/disk/by-id/nvme-of-somebody"] * 9), lines([row()])
    )
    assert max(map(len, spec["title"]["subtitle"])) <= 100
    assert len(spec["title"]["subtitle"]) >= 3
