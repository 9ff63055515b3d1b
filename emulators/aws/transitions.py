"""States that are not final at once: a thing is what it becomes after it was looked at so often and
its work in the lab is done. Looks, not seconds: tests depend on no clock."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Transition:
    """One thing on its way. `begin` starts the work."""

    looks_left: int
    begin: Callable[[], Future[Any]] | None
    finish: Callable[[], None]
    failed: Callable[[BaseException], None]
    work: Future[Any] | None = None

    def look(self) -> bool:
        """Somebody looked; is it there now?"""
        self.looks_left -= 1
        if self.looks_left > 0:
            return False
        return self.work is None or self.work.done()


@dataclass
class Transitions:
    """Everything that is on its way, by kind and id."""

    under_way: dict[tuple[str, str], Transition] = field(default_factory=dict)

    def add(self, kind: str, name: str, transition: Transition) -> None:
        """From now on `name` is on its way; what it was on its way to before is forgotten."""
        if transition.begin is not None:
            transition.work = transition.begin()
        self.under_way[kind, name] = transition

    def drop(self, kind: str, name: str) -> None:
        """It will not get there."""
        self.under_way.pop((kind, name), None)

    def look(self, kind: str) -> None:
        """Somebody looked at all of this kind."""
        for key, transition in list(self.under_way.items()):
            if key[0] != kind or not transition.look():
                continue
            del self.under_way[key]
            error = transition.work.exception() if transition.work else None
            if error is None:
                transition.finish()
            else:
                transition.failed(error)
