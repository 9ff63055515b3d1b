"""Whether the page cache was dropped before a step, as step.sh recorded it in cache.txt: pure."""

from __future__ import annotations

from typing import Literal

from diskbench.fio.declared import declared, is_set
from diskbench.model.base import Frozen
from diskbench.model.doubts import CACHE_KEPT
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Step
from diskbench.units import format_bytes

CACHED_SHARE = 0.01
"""A drop counts as verified when at most this share of what was cached is still there, or 1 MiB
(metadata that was read again at once); our choice."""
_ALWAYS_FINE_BYTES = 2**20


class CacheDrop(Frozen):
    """How the page cache was dropped. `what` was counted: the test files' pages (fincore), or for a
    raw device the kernel's buffers (/proc/meminfo). Bytes are None where the host has no count."""

    method: Literal["drop_caches", "fadvise", "none", "kept"]
    what: str = ""
    before_bytes: int | None = None
    after_bytes: int | None = None

    @property
    def verified(self) -> bool | None:
        """Whether the cache was empty afterwards; None where that is not known."""
        if self.method == "kept" or self.after_bytes is None:
            return None
        if self.method == "none":
            return False
        before = self.before_bytes or 0
        return self.after_bytes <= max(_ALWAYS_FINE_BYTES, before * CACHED_SHARE)


def parse_cache_drop(data: bytes) -> CacheDrop | None:
    """The contents of cache.txt; None where it names no known method."""
    values = dict(
        line.split(" ", 1) for line in data.decode(errors="replace").splitlines() if " " in line
    )
    method = values.get("method")
    if method not in ("drop_caches", "fadvise", "none", "kept"):
        return None
    return CacheDrop(
        method=method,
        what=values.get("what", ""),
        before_bytes=_whole(values.get("before_bytes")),
        after_bytes=_whole(values.get("after_bytes")),
    )


def cache_warning(data: bytes, step: Step) -> Warning | None:
    """The doubt in a buffered step whose page cache was to be dropped and was still there."""
    drop = parse_cache_drop(data)
    buffered = any(not is_set(options, "direct") for options in declared(step.job).values())
    if drop is None or drop.verified is not False or not buffered:
        return None
    state = (
        "could not be dropped" if drop.method == "none" else "was not empty after it was dropped"
    )
    amount = f": {format_bytes(drop.after_bytes)} of {drop.what} left" if drop.after_bytes else ""
    return CACHE_KEPT.warning(
        f"the page cache {state}{amount}; reads may have come from memory",
        step=step.name,
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() else None
