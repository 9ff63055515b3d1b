from itertools import combinations, pairwise

import pytest

from diskbench.report.charts import palette
from diskbench.report.charts.palette import DARK, LIGHT, OF_DIRECTION, SERIES

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
