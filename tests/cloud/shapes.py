"""The shape of a JSON document: which members there are, of which type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def shape(document: Any) -> dict[str, set[str]]:
    """Path → types found there. Lists count as one element that has the members of all; what is
    below `tags` is data."""
    found: dict[str, set[str]] = {}
    for path, kind in _walk(document, ""):
        found.setdefault(path, set()).add(kind)
    return found


def _walk(document: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(document, dict):
        yield path, "object"
        if path.endswith(".tags"):
            return
        for name, value in document.items():
            yield from _walk(value, f"{path}.{name}")
    elif isinstance(document, list):
        yield path, "array"
        for value in document:
            yield from _walk(value, f"{path}[]")
    else:
        yield path, _named(document)


def _named(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "boolean"
    return "number" if isinstance(value, int | float) else "string"
