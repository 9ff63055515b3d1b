"""The charts of one trial, step by step and beside its promise; help, docs and pages know them."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.unit.report.made import row
from tests.unit.report.reported import judged, trial, verdict

from diskbench.cli.report import _charts
from diskbench.errors import UnknownName
from diskbench.report.assemble.lines import lines
from diskbench.report.charts.registry import CHARTS, chart_lines, find_chart
from diskbench.report.charts.summary import latency_chart, rate_charts, summary_picture

DOCS = Path(__file__).parents[4] / "docs" / "report.md"


def test_the_docs_have_a_row_for_each_chart_and_no_others():
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$", DOCS.read_text(), re.MULTILINE)
    known = {one.name: (one.name, one.title, one.needs) for one in CHARTS}
    told = [tuple(map(str.strip, row)) for row in rows if row[0] in known]
    assert told == list(known.values())


def test_every_name_is_listed_completed_and_found_and_an_unknown_one_told_with_what_there_is():
    names = [one.name for one in CHARTS]
    assert [line.split()[0] for line in chart_lines()] == names
    assert [name for name, _ in _charts(None, "")] == ["list", *names]
    assert [name for name, _ in _charts(None, "lat")] == [n for n in names if n.startswith("lat")]
    assert [find_chart(name).name for name in names] == names
    with pytest.raises(UnknownName) as caught:
        find_chart("iop")
    assert "--chart list" in caught.value.advice


def drawn(*verdicts):
    (draw,) = (each.draw for each in CHARTS if each.name == "promised")
    data = SimpleNamespace(single=trial(verdicts=verdicts))
    return {figure.id: figure for figure in draw(data)}


def large(iops: float, promised: float):
    level = judged(iops, promised)
    assert level.promised is not None
    promise = level.promised.model_copy(update={"bytes_per_s": promised * 2**20})
    return level.model_copy(update={"bytes_per_s": iops * 2**20, "promised": promise})


def test_iops_of_small_blocks_and_rates_of_large_ones_share_no_axis_and_one_step_is_no_chart():
    small = verdict(judged(3035.0, 3000.0), step="rand")
    assert drawn(small) == {}
    figures = drawn(small, verdict(large(128.0, 125.0), step="seq"))
    assert set(figures) == {"promised", "promised-throughput"}
    assert "IOPS" in figures["promised"].title
    told = figures["promised-throughput"].alt
    assert [words in told for words in ("134 of 131", "128 of", "rand")] == [True, False, False]


def test_both_say_their_sample_and_that_there_is_no_interval():
    for ids, counted in {"a": "n = 1 run", "ab": "median of n = 2 runs"}.items():
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
    disks = " · ".join(["/dev/disk/by-id/nvme-of-somebody"] * 9)
    folded = summary_picture("A look", disks, lines([row()]))["title"]["subtitle"]
    assert max(map(len, folded)) <= 100
    assert len(folded) >= 3
