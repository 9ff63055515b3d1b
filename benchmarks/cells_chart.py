"""The Vega-Lite document of curves, which benchmarks/curves.py draws."""

from __future__ import annotations

from typing import Any


def chart(
    runs: list[dict[str, Any]],
    panels: dict[str, dict[str, str]],
    x: str,
    x_title: str,
) -> dict[str, Any]:
    """The Vega-Lite document of all panels, side by side: title → field of a line → its name, over
    the field `x`."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "hconcat": [_panel(title, fields, runs, x, x_title) for title, fields in panels.items()],
        "resolve": {"scale": {"color": "independent"}},
    }


def _panel(
    title: str, fields: dict[str, str], runs: list[dict[str, Any]], x: str, x_title: str
) -> dict[str, Any]:
    builds = {run.get("version", "now") for run in runs}
    rows = [
        {
            x: run[x],
            "value": run[field],
            "what": f"{name}, {run.get('version', 'now')}" if len(builds) > 1 else name,
        }
        for run in runs
        for field, name in fields.items()
        if field in run
    ]
    return {
        "title": {"text": title, "anchor": "start", "fontSize": 12},
        "width": 220,
        "height": 180,
        "data": {"values": rows},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {
                "field": x,
                "type": "quantitative",
                "scale": {"type": "log", "nice": False},
                "axis": {"values": sorted({run[x] for run in runs}), "format": ",d"},
                "title": x_title,
            },
            "y": {
                "field": "value",
                "type": "quantitative",
                "aggregate": "median",
                "scale": {"zero": True},
                "title": None,
            },
            "color": {
                "field": "what",
                "type": "nominal",
                "legend": {"orient": "bottom", "direction": "vertical", "title": None},
            },
        },
    }
