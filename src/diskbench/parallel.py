"""Many inputs: one function over them in threads, for calls that wait on the network; some of them
at a time, for what is held in memory; and those of a kind together."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 8
"""Leases or regions at a time, our choice: a machine takes half a minute to end, and clouds
throttle."""

One = TypeVar("One")
Answer = TypeVar("Answer")
Name = TypeVar("Name", bound=Hashable)


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


def grouped(members: Iterable[One], kind: Callable[[One], Name]) -> dict[Name, list[One]]:
    """The members of each kind, in their order; kinds in the order of their first member."""
    groups: dict[Name, list[One]] = {}
    for member in members:
        groups.setdefault(kind(member), []).append(member)
    return groups


def few_at_a_time(
    groups: Iterable[tuple[Name, Sequence[One]]], most: int
) -> Iterator[dict[Name, Sequence[One]]]:
    """Groups in their order, by name: trials with their runs, or subjects with their trials. As
    many together as have `most` members; at least one group."""
    few: dict[Name, Sequence[One]] = {}
    for name, members in groups:
        if few and sum(map(len, few.values())) + len(members) > most:
            yield few
            few = {}
        few[name] = members
    if few:
        yield few
