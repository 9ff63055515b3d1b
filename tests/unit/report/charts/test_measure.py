import pytest

from diskbench.report.charts.measure import wants_log


@pytest.mark.parametrize(
    ("values", "log"),
    [([100, 10_000], False), ([99, 10_000], True), ([0, 0.0], False), ([], False),
     ([0, 50, 5000], False)],
)  # fmt: skip
def test_more_than_two_decades_call_for_a_logarithmic_axis(values, log):
    assert wants_log(values) is log
