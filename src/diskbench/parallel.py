"""Doing one thing to many at once, where each waits for somebody else's answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AT_ONCE = 8
"""Leases or regions at a time: a machine takes half a minute to end, and clouds throttle; our
choice."""

One = TypeVar("One")
Answer = TypeVar("Answer")


def all_of(do: Callable[[One], Answer], these: Sequence[One]) -> list[Answer]:
    """What `do` returns for each, in order. What was not begun when one raises never is."""
    if len(these) < 2:
        return [do(one) for one in these]
    pool = ThreadPoolExecutor(max_workers=min(AT_ONCE, len(these)))
    try:
        return list(pool.map(do, these))
    finally:
        pool.shutdown(cancel_futures=True)
