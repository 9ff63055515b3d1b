"""The charts that are redrawn for each post, by the name that `report --chart` takes (charts.yaml).

The text of each chart says what it shows and which drawing of the post it redraws.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Any, Literal, cast

from diskbench.catalog.post_file import Published
from diskbench.catalog.published import SEEDS
from diskbench.catalog.yaml_loader import read_yaml
from diskbench.errors import UnknownName
from diskbench.model.base import Frozen

Kind = Literal["bars", "multiples", "instances", "latency", "samples", "runs", "promised", "price"]
Named = Literal["disk", "disk and step", "disk and direction", "workload"]


class PublishedFall(Frozen):
    """A fall that a post reports: the run in which it happened, and how many runs are drawn."""

    run: int
    runs: int
    words: str


class PostChart(Frozen):
    """One chart of one post. `figures` are patterns of the ids to draw, without the post, in
    order; `metric` and `direction` filter them (None: all)."""

    post: str
    name: str
    kind: Kind
    heading: str
    words: str
    figures: tuple[str, ...]
    metric: str | None = None
    direction: str | None = None
    named: Named = "disk"
    fall: PublishedFall | None = None

    def of(self, figures: Iterable[Published]) -> tuple[Published, ...]:
        """The figures that the chart draws, pattern by pattern."""
        of_post = [figure for figure in figures if figure.seed == self.post]
        return tuple(
            figure
            for pattern in self.figures
            for figure in of_post
            if fnmatchcase(figure.id, f"{self.post}/{pattern}")
            and self.metric in (None, figure.metric)
            and self.direction in (None, figure.direction)
        )


def _shipped() -> tuple[PostChart, ...]:
    text = files("diskbench.report.published").joinpath("charts.yaml").read_text(encoding="utf-8")
    posts = cast("dict[str, Any]", read_yaml(text))["charts"]
    return tuple(
        PostChart.model_validate({"post": post, **chart})
        for post, charts in posts.items()
        for chart in charts
    )


POST_CHARTS = _shipped()


def charts_of(post: str) -> tuple[PostChart, ...]:
    """The charts of one post. Raises UnknownName."""
    if post not in SEEDS:
        raise UnknownName("post", post, SEEDS)
    return tuple(chart for chart in POST_CHARTS if chart.post == post)


def find_chart(post: str, name: str) -> PostChart:
    """One chart of a post by its name. Raises UnknownName for an unknown post or chart."""
    charts = charts_of(post)
    for chart in charts:
        if chart.name == name:
            return chart
    raise UnknownName(
        "chart",
        name,
        [chart.name for chart in charts],
        advice=f"`diskbench report --post {post} --chart list` shows all",
    )
