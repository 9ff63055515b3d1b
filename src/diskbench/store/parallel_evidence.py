"""Evidence stores behind a network: several calls at a time."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from diskbench.parallel import all_of
from diskbench.ports import EvidenceStore
from diskbench.store.urls import evidence_directory

AT_ONCE = 16
"""Calls at a time; our choice: at 20 ms each 800 a second, more than one process can parse."""
WINDOW = 64
"""Runs that are read or written before the next ones are begun: a bound of what is in memory."""

_thread = threading.local()

One = TypeVar("One")
Answer = TypeVar("Answer")


def is_away(store: EvidenceStore) -> bool:
    """Whether calls to a store wait for a network."""
    return evidence_directory(store.url) is None


def each(
    store: EvidenceStore, do: Callable[[One], Answer], arguments: Sequence[One]
) -> list[Answer]:
    """The results of `do` in order, several at a time where the store is behind a network: on this
    machine threads only wait for each other. Calls of `each` within `do` are made one by one, so
    that there are never more than AT_ONCE. After the first exception no further call is started."""
    if len(arguments) < 2 or not is_away(store) or getattr(_thread, "is_one_of_several", False):
        return [do(argument) for argument in arguments]

    def one_of_several(argument: One) -> Answer:
        _thread.is_one_of_several = True
        return do(argument)

    return all_of(one_of_several, arguments, at_once=AT_ONCE)
