"""Help, docs and pages know the charts of the table."""

import re
from pathlib import Path

import pytest

from diskbench.cli.report import _charts_beginning
from diskbench.errors import UnknownName
from diskbench.report.charts.registry import CHARTS, chart_lines, find_chart

DOCS = Path(__file__).parents[4] / "docs" / "report.md"


def test_the_docs_have_a_row_for_each_chart_and_no_others():
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$", DOCS.read_text(), re.MULTILINE)
    known = {one.name: (one.name, one.title, one.needs) for one in CHARTS}
    told = [tuple(map(str.strip, row)) for row in rows if row[0] in known]
    assert told == list(known.values())


def test_every_name_is_listed_completed_and_found():
    names = [one.name for one in CHARTS]
    assert [line.split()[0] for line in chart_lines()] == names
    assert _charts_beginning("") == ["list", *names]
    assert _charts_beginning("lat") == [name for name in names if name.startswith("lat")]
    assert [find_chart(name).name for name in names] == names


def test_an_unknown_name_is_told_with_what_there_is():
    with pytest.raises(UnknownName) as caught:
        find_chart("iop")
    assert "--chart list" in caught.value.advice
