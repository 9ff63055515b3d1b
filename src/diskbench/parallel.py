"""Run one function over many inputs in threads, for calls that wait on the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 8
"""Leases or regions at a time, our choice: a machine takes half a minute to end, and clouds
throttle."""

One = TypeVar("One")
Answer = TypeVar("Answer")


def all_of(
    do: Callable[[One], Answer], arguments: Sequence[One], *, at_once: int = AT_ONCE
) -> list[Answer]:
    """The results of `do` in input order. After the first exception no further call is started."""
    if len(arguments) < 2:
        return [do(argument) for argument in arguments]
    pool = ThreadPoolExecutor(max_workers=min(at_once, len(arguments)))
    try:
        return list(pool.map(do, arguments))
    finally:
        pool.shutdown(cancel_futures=True)
