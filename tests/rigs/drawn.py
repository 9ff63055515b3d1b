"""What a drawing is made of: its rows, and the marks of its SVG."""

import re
from functools import cache
from html import unescape

_MARK = re.compile(r"<(?:path|rect|line|circle|text)[^>]* aria-label=\"([^\"]*)\"")


@cache
def _schema():
    from altair.vegalite.v6.schema.core import load_schema
    from jsonschema import Draft7Validator

    return Draft7Validator(load_schema())


def checked(figure, *, log=None):
    """A figure's drawing, which Vega-Lite's schema allows: an unknown word draws nothing."""
    drawing = figure.on(log=log)
    _schema().validate(_without_rows(drawing))
    return drawing


def rows_in(figure, *, log=None):
    return list(_rows(checked(figure, log=log)))


def _without_rows(node):
    """The drawing without its rows: a schema takes long with thousands of them."""
    if isinstance(node, list):
        return [_without_rows(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {k: {"values": []} if k == "data" else _without_rows(v) for k, v in node.items()}


def _rows(node):
    if isinstance(node, list):
        for one in node:
            yield from _rows(one)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from value["values"] if key == "data" and "values" in value else _rows(value)


def marks_in(svg):
    return [unescape(words) for words in _MARK.findall(svg)]
