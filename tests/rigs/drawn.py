"""What a drawing is made of: its rows, and the marks of its SVG."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

_MARK = re.compile(r"<(?:path|rect|line|circle|text)[^>]* aria-label=\"([^\"]*)\"")


def rows_in(figure, *, log=None) -> list[dict[str, Any]]:
    """All rows of all layers of a figure's drawing."""
    return list(_rows(figure.on(log=log)))


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
