"""A chart with its text, and its conversion to SVG or PNG. A drawing is a Vega-Lite document.
vl-convert is imported only when it is drawn: it runs JavaScript (V8), which keeps 160 MB from the
first drawing on (measured 2026-11-28)."""

import json
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import BACKGROUND, GRID, INK, LIGHT, MUTED
from diskbench.visible import visible_all

PNG_SCALE = 2.0
WRAP = 84
"""Characters per line of a picture's subtitle."""
_ROUND = ("right", "left", "top", "bottom", "top-right", "bottom-right", "top-left", "bottom-left")
PLACES = {
    "placed-inside": ("[width, height]", (*_ROUND, *_ROUND[4:])),
    "placed-beside": ("[1.25 * width, height]", (*_ROUND, *_ROUND[4:])),
    "placed-after": ("[1.5 * width, height + 20]", ("right", "top-right")),
    "placed-below": ("[1.25 * width, height]", ("bottom-right", "right", "top-right", "bottom")),
}
"""Styles of texts that Vega places at their rows: the room that it has, and what it tries there,
the corners at last twice as far away (_OFFSETS)."""
_OFFSETS = [8] * len(_ROUND) + [16]
_QUIET = {
    "labelColor": MUTED, "labelFontSize": 11, "titleColor": MUTED, "titleFontWeight": "normal",
}  # fmt: skip
_CONFIG = {
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": _QUIET | {
        "domain": False, "ticks": False, "gridColor": GRID, "domainColor": GRID,
        "tickColor": GRID, "titleFontSize": 11,
    },
    "legend": _QUIET | {"orient": "top", "columnPadding": 16},
    "text": {"fontSize": 11},
    "title": {
        "color": INK, "subtitleColor": MUTED, "fontSize": 13, "subtitleFontSize": 11,
        "subtitlePadding": 4, "anchor": "start",
    },
}  # fmt: skip
# The reader's font may be wider than the one that Vega measures texts beside the plot with.
_PAGE = {"background": "transparent", "padding": {"left": 0, "top": 0, "right": 16, "bottom": 0}}
_PICTURE = {"background": BACKGROUND, "padding": 20}


@dataclass(frozen=True)
class ChartFigure:
    """A chart and its text. `title` says what is drawn; `subtitle` the unit, n, and the interval or
    `no interval (n = …)`; `alt` is the alternative text, one sentence. `id` is unique on a page.
    `drawing` draws with a logarithmic axis or a linear one; `log` is None where only the linear one
    suits, else it says which of both suits better. `rows_href` links to the rows of its figures."""

    title: str
    subtitle: str
    drawing: Callable[[bool], Spec]
    id: str = ""
    alt: str = ""
    log: bool | None = None
    rows_href: str | None = None

    def on(self, *, log: bool | None = None) -> Spec:
        """The drawing on a logarithmic or linear axis; None: the one that suits the data."""
        return self.drawing(bool(self.log if log is None or self.log is None else log))


def svg(figure: ChartFigure) -> str:
    """The drawing alone as SVG, for a page that writes title and subtitle itself.

    Vega escapes every text in it. Names inside are made the figure's own, so that several may stand
    on one page, and are counted anew: Vega goes on counting from drawing to drawing of a process.
    """
    drawn = _svg(_visible(figure.on(), _PAGE))
    numbers: dict[str, int] = {}

    def named(match: re.Match[str]) -> str:
        return f"{match[1]}{figure.id}-{match[2]}{numbers.setdefault(match[3], len(numbers))}"

    drawn = re.sub(r'(\bid="|url\(#)(clip|gradient_?)(\d+)', named, drawn)

    def shorter(number: re.Match[str]) -> str:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")

    # Two decimals are precise enough, and halve the size of a heat map.
    return _PLACES.sub(lambda match: _LONG.sub(shorter, match[0]), drawn)


_PLACES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{3,}(?!\d|e)")


def picture(figure: ChartFigure, kind: str, *, log: bool | None = None) -> bytes:
    """A standalone picture with title and subtitle: `kind` is `svg`, `png` or `pdf`."""
    above = {"fontSize": 16, "subtitleFontSize": 12, "offset": 14}
    return drawn_as(figure.on(log=log) | titled(figure.title, figure.subtitle, **above), kind)


def titled(title: str, subtitle: str, *, wrap: int = WRAP, **style: object) -> Spec:
    """The title of a drawing above its wrapped subtitle, at the left edge of all that is drawn."""
    lines = textwrap.wrap(unbroken(subtitle), wrap, break_on_hyphens=False) or [""]
    words = {"text": title, "subtitle": lines, "anchor": "start", "frame": "bounds"}
    return {"title": words | style}


def unbroken(text: str) -> str:
    """The text, in which no line ends inside of `n = 3`."""
    return text.replace("n = ", "n\u00a0=\u00a0")


def drawn_as(drawing: Spec, kind: str) -> bytes:
    """A drawing as a picture, `svg`, `png` or `pdf`. In SVG, any viewer shows the text of a mark
    when the pointer rests on it."""
    import vl_convert

    spec: Spec = json.loads(in_light(json.dumps(_visible(drawing, _PICTURE))))
    if kind == "png":
        return bytes(vl_convert.vega_to_png(compiled(spec), scale=PNG_SCALE))
    if kind == "pdf":
        return bytes(vl_convert.vega_to_pdf(compiled(spec)))
    # The text of a mark is already escaped in its label.
    return _MARK.sub(r"<\1 \2><title>\3</title></\1>", _svg(spec)).encode()


_MARK = re.compile(r'<(path|rect|line) ((?:[^<>]*? )?aria-label="([^"]*)"[^<>]*?)/>')
_VARIABLE = re.compile(r"var\((--[a-z0-9-]+)\)")


def in_light(text: str) -> str:
    """The text with values for the page's CSS variables, which a picture does not have."""
    return _VARIABLE.sub(lambda match: LIGHT.get(match[1], match[0]), text)


def _visible(drawing: Spec, around: Spec) -> Spec:
    """The document of a drawing. Control characters in its texts are made visible: XML has no place
    for most of them."""
    document: Spec = visible_all({**drawing, **around, "config": _CONFIG})
    return document


def _svg(document: Spec) -> str:
    """SVG with its links as they are: vl-convert 1.9 prefixes them with an address of Vega."""
    import vl_convert

    drawn = str(vl_convert.vega_to_svg(compiled(document)))
    return drawn.replace('href="https://vega.github.io/vega-datasets/', 'href="')


def compiled(document: Spec) -> Spec:
    """A Vega-Lite document as one of Vega, which places texts of these styles where they cover no
    other, or leaves them out. Vega-Lite has no word for that transform. Raises ValueError for one
    that is none."""
    import vl_convert

    vega: Spec = vl_convert.vegalite_to_vega(document)
    for mark in _marks(vega):
        for style in PLACES.keys() & set(mark.get("style", ())):
            size, anchors = PLACES[style]
            label = {
                "type": "label",
                "anchor": anchors,
                "offset": _OFFSETS,
                "size": {"signal": size},
            }
            mark["transform"] = [label]
            for axis in ("x", "y"):
                mark["encode"]["update"][axis]["offset"] = {"field": f"d{axis}"}
    return vega


def _marks(group: Spec) -> Iterator[Spec]:
    for mark in group.get("marks", ()):
        yield mark
        yield from _marks(mark)
