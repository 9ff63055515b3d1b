"""What a drawing is made of: its rows, and the marks of its SVG."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

_MARK = re.compile(r"<(?:path|rect|line|circle|text)[^>]* aria-label=\"([^\"]*)\"")


def spec_of(figure, *, log=None) -> dict[str, Any]:
    """A figure's drawing as Vega-Lite, every layer's rows in the layer itself."""
    spec = figure.on(log=log).to_dict(validate=False)
    return _inlined(spec, spec.pop("datasets", {}))


def rows_in(figure, *, log=None) -> list[dict[str, Any]]:
    """All rows of all layers of a figure's drawing."""
    return list(_rows(spec_of(figure, log=log)))


def _inlined(node: Any, datasets: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(one, datasets) for one in node]
    if not isinstance(node, dict):
        return node
    if set(node) == {"name"} and node["name"] in datasets:
        return {"values": datasets[node["name"]]}
    return {key: _inlined(value, datasets) for key, value in node.items()}


def _rows(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for one in node:
            yield from _rows(one)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from value["values"] if key == "data" and "values" in value else _rows(value)


def marks_in(svg: str) -> list[str]:
    """The words that marks of an SVG carry."""
    return [unescape(words) for words in _MARK.findall(svg)]
