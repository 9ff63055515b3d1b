"""The charts of one trial and their colours; help, docs and pages know them."""

import re
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.unit.report.made import row
from tests.unit.report.reported import judged, trial, verdict

from diskbench.cli.report import _charts
from diskbench.errors import UnknownName
from diskbench.report.assemble.lines import lines
from diskbench.report.charts import palette
from diskbench.report.charts.palette import DARK, LIGHT, OF_DIRECTION, SERIES
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


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
BLINDNESS = {
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
}
PLAIN = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def linear(colour: str) -> list[float]:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def seen(colour: str, matrix) -> list[float]:
    """As CIE Lab."""
    rgb = linear(colour)
    mixed = (sum(m * c for m, c in zip(row, rgb, strict=True)) for row in matrix)
    r, g, b = (max(0.0, min(1.0, light)) for light in mixed)
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)]


def contrast(one: str, other: str) -> float:
    rgbs = linear(one), linear(other)
    lights = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in rgbs)
    return (lights[1] + 0.05) / (lights[0] + 0.05)


PAGES = pytest.mark.parametrize(
    ("colours", "page"), [(LIGHT, palette.BACKGROUND), (DARK, "#201f1d")], ids=["light", "dark"]
)


def of(colours, variables):
    """The values of `var(--series-1)` …"""
    return [colours[variable.removeprefix("var(").removesuffix(")")] for variable in variables]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("matrix", [PLAIN, *BLINDNESS.values()], ids=["plain", *BLINDNESS])
def test_colours_of_series_stay_apart_for_every_reader(colours, matrix):
    for one, other in combinations(of(colours, SERIES), 2):
        a, b = seen(one, matrix), seen(other, matrix)
        apart = sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5
        assert apart > 12, (one, other, apart)


@PAGES
def test_marks_and_words_stand_out_from_the_page(colours, page):
    for colour in of(colours, (*SERIES, *OF_DIRECTION.values(), palette.ACCENT)):
        assert contrast(colour, page) >= 3, colour
    for colour in of(colours, (palette.INK, palette.MUTED)):
        assert contrast(colour, page) >= 4.5, colour


@PAGES
@pytest.mark.parametrize("matrix", [PLAIN, *BLINDNESS.values()], ids=["plain", *BLINDNESS])
def test_steps_of_heat_lead_evenly_away_from_the_page_for_every_reader(colours, page, matrix):
    start, *lights = (seen(colour, matrix)[0] for colour in (page, *of(colours, palette.HEAT)))
    apart = [abs(light - start) for light in lights]
    gaps = [later - earlier for earlier, later in pairwise([0.0, *apart])]
    assert min(gaps[1:]) > 8
    assert max(gaps[1:]) < 2 * min(gaps[1:])
