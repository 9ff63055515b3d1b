"""Which trials threads of this process work on, and which it suspended."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from diskbench.errors import Suspended

if TYPE_CHECKING:
    from collections.abc import Iterator

suspensions: dict[str, Suspended] = {}
"""Why this process suspended a trial, by its id. Its workflow in the database is unchanged."""
_threads: Counter[str] = Counter()
_changed = threading.Condition()


@contextmanager
def working_on(trial_id: str) -> Iterator[None]:
    """Inside the block, count this thread as working on a trial, and keep why it was suspended."""
    with _changed:
        _threads[trial_id] += 1
    try:
        yield
    except Suspended as suspended:
        suspensions[trial_id] = suspended
        raise
    finally:
        with _changed:
            _threads[trial_id] -= 1
            if not _threads[trial_id]:
                del _threads[trial_id]
            _changed.notify_all()


def at_work(trial_id: str) -> bool:
    """Whether a thread of this process works on a trial."""
    with _changed:
        return trial_id in _threads


def none_at_work(within_s: float) -> bool:
    """Wait at most `within_s` seconds until no thread works on any trial; returns whether that is
    so."""
    with _changed:
        return _changed.wait_for(lambda: not _threads, within_s)
