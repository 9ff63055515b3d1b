"""Routes: which cells a worker can reach. Pure.

A route is a provider (`NAME`), or a provider and the site from the `route:` of a matrix
(`NAME/site-a`). A region is not a route: a worker that reaches a cloud reaches all its regions.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue, UnknownName

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

EVERYWHERE = ("*",)
"""The patterns of a worker that takes cells of every route."""


def serves(patterns: Collection[str], route: str) -> bool:
    """Whether a worker with these patterns takes cells of `route`. `NAME` and `NAME/*` mean
    all of that provider, its sites included; `NAME/site-a` that site alone."""
    return any(
        fnmatchcase(route, pattern)
        or fnmatchcase(route, f"{pattern}/*")
        or (pattern.endswith("/*") and fnmatchcase(route, pattern.removesuffix("/*")))
        for pattern in patterns
    )


def read_patterns(text: str, providers: Sequence[str]) -> tuple[str, ...]:
    """Parse patterns such as `ONE/*,OTHER/site-a`. Raises UnknownName for an unknown provider,
    InvalidValue for an empty list."""
    patterns = tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
    if not patterns:
        raise InvalidValue(
            f"--queues {text!r} names no queue",
            advice="name providers, as `diskbench providers` lists them, or PROVIDER/SITE",
        )
    for pattern in patterns:
        provider = pattern.partition("/")[0]
        if not any(fnmatchcase(known, provider) for known in providers):
            raise UnknownName("provider", provider, providers)
    return patterns
