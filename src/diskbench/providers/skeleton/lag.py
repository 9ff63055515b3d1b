"""Listing again where a cloud's listing lags behind what was made or deleted.

Listings of clouds are eventually consistent (Amazon EC2 Developer Guide, "Eventual consistency";
Azure Resource Manager, "caches"): one that is empty just after a create proves nothing, nor does
one that still shows what was deleted a moment ago. How long each may last is the cloud's own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from diskbench.providers.waits import nap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from diskbench.ports import RentWatch
    from diskbench.providers.waits import Patience


class Listing(Protocol):
    """A cloud's listing of a lease."""

    @property
    def others(self) -> Sequence[str]:
        """Kinds and ids of resources that carry the lease's tag but do not belong to it; they
        are kept."""
        ...

    def names(self) -> Sequence[str]:
        """Kinds and ids of the resources to release, the keys of `Failures`."""
        ...


L = TypeVar("L", bound=Listing)


@dataclass(frozen=True)
class Lag(Generic[L]):
    """How far a cloud's listings may be behind. `unlisted_s` returns how many seconds from now a
    resource of the lease may still be absent, by the first listing of a release; None: what is not
    listed is not there. `listed_s` is how long a deleted one may still be listed."""

    timing: Patience
    unlisted_s: Callable[[L], float | None]
    listed_s: float
    repeats: int = 0
    """How many times at least an empty listing is repeated before anything was listed, also when
    the time is over: a clock may be wrong, or the machine slow."""
    watch: RentWatch | None = None


def listed_in_time(
    list_lease: Callable[[Collection[str]], L],
    deleted: Collection[str],
    lag: Lag[L] | None,
    first: L | None = None,
) -> L:
    """The listing by `list_lease`, which is given the names `deleted` so far. It is asked again
    while it shows one of them, and while it is empty although something may have been made (`first`
    is the listing with which the release began); without `lag` it is asked once. After that time
    the last listing is returned as it is. Raises Interrupted when `lag.watch` is stopping."""
    if lag is None:
        return list_lease(deleted)
    begin, waits, wait_s = time.monotonic(), 0, lag.timing.first_poll_s
    unlisted_until, repeats = None, 0  # known at the first empty listing
    while True:
        listing = list_lease(deleted)
        names, now = set(listing.names()), time.monotonic()
        if names:
            is_late = bool(names.intersection(deleted)) and now - begin < lag.listed_s
        else:
            if unlisted_until is None:
                left_s = lag.unlisted_s(listing if first is None else first)
                if left_s is None:
                    return listing
                unlisted_until = now + left_s
                repeats = lag.repeats if first is None or left_s > 0 else 0
            is_late = unlisted_until > now or waits < repeats
        if not is_late:
            return listing
        nap(wait_s, lag.timing, lag.watch)
        waits, wait_s = waits + 1, min(wait_s * 1.5, lag.timing.max_poll_s)
