"""What a command opens is closed when the command ends, however it ends."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OPENED: ContextVar[ExitStack | None] = ContextVar("opened", default=None)


@contextmanager
def closing_all() -> Iterator[None]:
    """Call at the end of the block what was given to `close_at_end` inside."""
    with ExitStack() as opened:
        token = _OPENED.set(opened)
        try:
            yield
        finally:
            _OPENED.reset(token)


def close_at_end(close: Callable[[], object]) -> None:
    """Call `close` when the command ends; outside of a command it is not called."""
    opened = _OPENED.get()
    if opened is not None:
        opened.callback(close)
