"""The steps of a trial beside the promise of its disk."""

from types import SimpleNamespace

from tests.unit.report.reported import judged, trial, verdict

from diskbench.report.charts.registry import CHARTS


def drawn(*verdicts):
    (draw,) = (each.draw for each in CHARTS if each.name == "promised")
    data = SimpleNamespace(single=trial(verdicts=verdicts))
    return {figure.id: figure for figure in draw(data)}


def large(iops: float, promised: float):
    level = judged(iops, promised)
    assert level.promised is not None
    promise = level.promised.model_copy(update={"bytes_per_s": promised * 2**20})
    return level.model_copy(update={"bytes_per_s": iops * 2**20, "promised": promise})


def test_iops_of_small_blocks_and_rates_of_large_ones_share_no_axis():
    figures = drawn(
        verdict(judged(3035.0, 3000.0), step="rand"), verdict(large(128.0, 125.0), step="seq")
    )
    assert set(figures) == {"promised", "promised-throughput"}
    assert "IOPS" in figures["promised"].title
    throughput = figures["promised-throughput"]
    assert "128 of" not in throughput.alt
    assert "134 of 131" in throughput.alt
    assert "rand" not in throughput.alt


def test_a_single_step_is_no_chart():
    assert drawn(verdict(judged(3035.0, 3000.0), step="rand")) == {}
