"""What was refreshed from a cloud's own APIs, laid over the shipped files.

A patch has the form of the file that it is laid over, so that whatever holds for that file holds
for both together: a figure without a listed source is refused. This module keeps what was laid over
in this process and does no I/O; store/overlays.py reads and writes it. Plans carry the digest.
"""

from __future__ import annotations

import functools
import hashlib
import json
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _T = TypeVar("_T")


class Overlay(Frozen):
    """The patches of one cloud's files, by the files' names; `made_on` is the day of the answers,
    `region` that of the prices."""

    format: Literal[1] = 1
    cloud: str
    region: str
    made_on: str
    patches: dict[str, dict[str, Any]]


_laid: dict[str, Overlay] = {}
_forget: list[Callable[[], None]] = []


def lay(overlays: Iterable[Overlay]) -> None:
    """Lay these over the shipped files, and nothing else, from now on in this process."""
    _laid.clear()
    _laid.update({one.cloud: one for one in overlays})
    for forget in _forget:
        forget()


def laid() -> tuple[Overlay, ...]:
    """What lies over the shipped files now, by cloud."""
    return tuple(_laid[cloud] for cloud in sorted(_laid))


def digest() -> str | None:
    """A short name of what is laid over all clouds' files; None for the shipped catalogue."""
    if not _laid:
        return None
    told = [one.model_dump(mode="json") for one in laid()]
    text = json.dumps(told, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def overlaid(load: Callable[[], _T]) -> Callable[[], _T]:
    """A loader of a file that is called once, and again when something else is laid over it."""
    kept = functools.cache(load)
    _forget.append(kept.cache_clear)
    return kept


def patched(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """The data of a file with what is laid over it."""
    for one in _laid.values():
        if name in one.patches:
            return _merged(data, one.patches[name])
    return data


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """`above` over `below`: mappings are merged, everything else is replaced."""
    found = dict(below)
    for key, value in above.items():
        held = found.get(key)
        both = isinstance(held, dict) and isinstance(value, dict)
        found[key] = _merged(held, value) if both else value  # type: ignore[arg-type]
    return found
