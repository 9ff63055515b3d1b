"""Help, docs and pages know the charts of the table."""

import re
from pathlib import Path

import pytest

from diskbench.cli.report import _charts
from diskbench.errors import UnknownName
from diskbench.report.charts.registry import CHARTS, chart_lines, find_chart

DOCS = Path(__file__).parents[4] / "docs" / "report.md"


def test_the_docs_have_a_row_for_each_chart_and_no_others():
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$", DOCS.read_text(), re.MULTILINE)
    known = [(one.name, one.title, one.needs) for one in CHARTS]
    assert [tuple(map(str.strip, row)) for row in rows if row[0] in {one[0] for one in known}] == (
        known
    )


def test_every_name_is_listed_completed_and_found():
    names = [one.name for one in CHARTS]
    assert [line.split()[0] for line in chart_lines()] == names
    assert [name for name, _ in _charts(None, "")] == ["list", *names]
    assert [name for name, _ in _charts(None, "lat")] == [n for n in names if n.startswith("lat")]
    assert [find_chart(name).name for name in names] == names


def test_an_unknown_name_is_told_with_what_there_is():
    with pytest.raises(UnknownName) as caught:
        find_chart("iop")
    assert "--chart list" in caught.value.advice
