"""Release of a lease: list, delete, list again, and raise one error for all that is left."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, Protocol, TypeVar

from diskbench.errors import DiskbenchError, ReleaseFailed
from diskbench.providers.places import lease_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from diskbench.model.ours import Which

RELEASE_ROUNDS = 3
"""The number of passes over the listing: a concurrent `acquire` may add to it meanwhile."""

Failures = dict[str, str]
"""Kind and id of a resource that could not be released → the reason."""


class Listing(Protocol):
    """What a cloud lists of a lease."""

    @property
    def others(self) -> Sequence[str]:
        """Kinds and ids of resources that carry the lease's tag but do not belong to it; they
        are kept."""
        ...

    def names(self) -> Sequence[str]:
        """Kinds and ids of the resources to release, the keys of `Failures`."""
        ...


L = TypeVar("L", bound=Listing)


def release(
    which: Which,
    where: str,
    look: Callable[[], L],
    give_back: Callable[[L, Failures], None],
    tell: Callable[[str], str] = str,
) -> None:
    """Release the resources of a lease at `where` (`us-east-1`); succeeds if there are none.

    `look` lists the lease, `give_back` deletes everything in the order of dependence and notes
    failures, `tell` describes a name that is left. Raises one ReleaseFailed, naming what the
    last listing still shows.
    """
    lease_id = which.lease_id
    directory = lease_directory(lease_id)
    failures: Failures = {}
    found = _listed(look, lease_id, where)
    for _ in range(RELEASE_ROUNDS):
        if failures or not found.names():
            break
        give_back(found, failures)
        found = _listed(look, lease_id, where)
    which.warn(found.others)
    if left := found.names():
        reasons = "; ".join(f"{tell(what)} ({failures.get(what, 'still listed')})" for what in left)
        raise ReleaseFailed(
            f"not given back in {where}: {reasons}",
            advice=f"diskbench gc {lease_id}; what is left costs money or room until then",
        )
    if not which.copied:
        shutil.rmtree(directory, ignore_errors=True)


def _listed(look: Callable[[], L], lease_id: str, where: str) -> L:
    try:
        return look()
    except DiskbenchError as error:
        raise ReleaseFailed(
            f"not given back in {where}: what is there of {lease_id} could not be listed: "
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
