"""Release of a lease: list, delete, list again, and raise one error for all that is left."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, TypeVar

from diskbench.errors import DiskbenchError, ReleaseFailed
from diskbench.providers.places import lease_directory
from diskbench.providers.skeleton.lag import Lag, Listing, listed_in_time

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from diskbench.model.rental import Which

RELEASE_ROUNDS = 3
"""The number of passes over the listing: a concurrent `acquire` may add to it meanwhile."""

L = TypeVar("L", bound=Listing)

Failures = dict[str, str]
"""Kind and id of a resource that could not be released → the reason."""


def release(
    which: Which,
    where: str,
    list_lease: Callable[[Collection[str]], L],
    give_back: Callable[[L, Failures], None],
    tell: Callable[[str], str] = str,
    *,
    lag: Lag[L] | None = None,
) -> None:
    """Release the resources of a lease at `where` (`us-east-1`); succeeds if there are none.

    `list_lease` is given the names of what was deleted so far. `give_back` deletes everything in
    the order of dependence and notes failures, `tell` describes a name that is left. `lag` says how
    far the listings may be behind; None: they never are. Raises one ReleaseFailed, naming what the
    last listing still shows.
    """
    lease_id = which.lease_id
    directory = lease_directory(lease_id)
    failures: Failures = {}
    deleted: set[str] = set()
    with _listing(lease_id, where):
        listing = first = listed_in_time(list_lease, deleted, lag)
    for _ in range(RELEASE_ROUNDS):
        if failures or not listing.names():
            break
        give_back(listing, failures)
        deleted.update(name for name in listing.names() if name not in failures)
        with _listing(lease_id, where):
            listing = listed_in_time(list_lease, deleted, lag, first)
    which.warn(listing.others)
    if remaining := listing.names():
        reasons = "; ".join(
            f"{tell(what)} ({failures.get(what, 'still listed')})" for what in remaining
        )
        raise ReleaseFailed(
            f"not given back in {where}: {reasons}",
            advice=f"diskbench gc {lease_id}; what is left costs money or space until then",
        )
    if not which.copied:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def _listing(lease_id: str, where: str) -> Iterator[None]:
    """Turn an error of a listing into ReleaseFailed."""
    try:
        yield
    except DiskbenchError as error:
        raise ReleaseFailed(
            f"not given back in {where}: the resources of {lease_id} could not be listed: "
            f"{error.message}",
            advice=_then_gc(error, lease_id),
        ) from error


@contextlib.contextmanager
def giving_back(lease_id: str) -> Iterator[None]:
    """Turn an error that prevents the release of a whole lease into ReleaseFailed."""
    try:
        yield
    except ReleaseFailed:
        raise
    except DiskbenchError as error:
        raise ReleaseFailed(
            f"{lease_id} was not given back: {error.message}", advice=_then_gc(error, lease_id)
        ) from error


@contextlib.contextmanager
def noting(
    failures: Failures, what: str, is_missing: Callable[[BaseException], bool]
) -> Iterator[None]:
    """Note why `what` could not be released, and continue; a missing resource counts as
    released."""
    try:
        yield
    except DiskbenchError as error:
        if not is_missing(error):
            failures[what] = error.message


def _then_gc(error: DiskbenchError, lease_id: str) -> str:
    first = f"{error.advice}; then: " if error.advice else ""
    return f"{first}diskbench gc {lease_id}"
