"""Leases at a cloud: found by the tags of their resources, and released.

A release lists, deletes, lists again, and raises one error for all that is left. Listings of clouds
are eventually consistent (Amazon EC2 Developer Guide, "Eventual consistency"; Azure Resource
Manager, "caches"): one that is empty just after a create proves nothing, nor does one that still
shows what was deleted a moment ago. How long each may last is the cloud's own.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from diskbench.errors import DiskbenchError, ReleaseFailed
from diskbench.model.rental import Claim, Found, Scope, Which, is_named_for
from diskbench.ports import RentWatch
from diskbench.providers.error_table import refused
from diskbench.providers.keys import lease_directory
from diskbench.providers.waits import CloudTiming, nap


@dataclass(frozen=True)
class Tagged:
    """A resource that carries the tag of a lease: `told` is its kind and id (`volume vol-0abc`).
    `expires_at` (Unix seconds) and `owner` come from its tags, None where absent; `item` is what
    the cloud says of it."""

    lease_id: str
    told: str
    name: str | None
    expires_at: float | None = None
    owner: str | None = None
    item: Any = None


LEASE_TAG = "diskbench-lease"
EXPIRES_TAG = "diskbench-expires"
OWNER_TAG = "diskbench-owner"


def tags_of(claim: Claim, lab: str = "") -> dict[str, str]:
    """The tags of every resource of a lease, before they take the cloud's form; `lab` is set for an
    emulated cloud only."""
    return {
        LEASE_TAG: claim.lease_id,
        EXPIRES_TAG: str(int(claim.expires_at)),
        OWNER_TAG: claim.owner,
        "diskbench-version": claim.version,
        **({"diskbench-lab": lab} if lab else {}),
    }


def tagged(
    tags: Mapping[str, Any], told: str, name: str | None, item: object = None
) -> Tagged | None:
    """The resource with these tags; None where they name no lease. Expiry and owner are None where
    they cannot be read."""
    lease_id, expires = tags.get(LEASE_TAG), str(tags.get(EXPIRES_TAG) or "")
    if not lease_id:
        return None
    expires_at = float(expires) if expires.isdecimal() else None
    return Tagged(str(lease_id), told, name, expires_at, tags.get(OWNER_TAG) or None, item)


def by_lease(scope: Scope, tagged: Iterable[Tagged]) -> list[Found]:
    """The leases with any resource, sorted. Expiry and owner come from resources made for the
    lease: a copy of the tags prolongs nothing."""
    leases: dict[str, list[Tagged]] = {}
    for resource in tagged:
        leases.setdefault(resource.lease_id, []).append(resource)
    listed = []
    for lease_id, resources in sorted(leases.items()):
        ours = [one for one in resources if is_named_for(lease_id, one.name)]
        ends = [one.expires_at for one in ours if one.expires_at is not None]
        listed.append(
            Found(
                lease_id=lease_id,
                scope=scope,
                expires_at=max(ends, default=None),
                owner=next((one.owner for one in ours if one.owner), None),
                resources=tuple(one.told for one in ours),
                not_ours=tuple(one.told for one in resources if one not in ours),
            )
        )
    return listed


RELEASE_ROUNDS = 3
"""The number of passes over the listing: a concurrent `acquire` may add to it meanwhile."""

Failures = dict[str, str]
"""Kind and id of a resource that could not be released → the reason."""


def release(
    which: Which,
    where: str,
    list_lease: Callable[[Collection[str]], Listed],
    give_back: Callable[[Listed, Failures], None],
    tell: Callable[[str], str] = str,
    *,
    lag: Lag | None = None,
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
        if failures or not listing.meant:
            break
        give_back(listing, failures)
        deleted.update(name for name in listing.meant if name not in failures)
        with _listing(lease_id, where):
            listing = listed_in_time(list_lease, deleted, lag, first)
    which.warn(listing.others)
    reasons = [f"{tell(one)} ({failures.get(one, 'still listed')})" for one in listing.meant]
    if reasons:
        raise refused("not given back", where=where, reasons="; ".join(reasons), lease_id=lease_id)
    if not which.copied:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def _listing(lease_id: str, where: str) -> Iterator[None]:
    """Turn an error of a listing into ReleaseFailed."""
    try:
        yield
    except DiskbenchError as error:
        then = _then_gc(error, lease_id)
        raise refused("unlisted", where=where, lease_id=lease_id, error=error, then=then) from error


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


@dataclass(frozen=True)
class Listed:
    """A cloud's listing of what carries a lease's tag: what is to be released, by kind and id
    (`volume vol-0abc`, the keys of `Failures`), and the `others`, which do not belong to the lease;
    these stay."""

    meant: Mapping[str, Any]
    others: tuple[str, ...] = ()

    def of(self, kind: str) -> list[Any]:
        """The resources of a kind (`volume`)."""
        return [one for name, one in self.meant.items() if name.startswith(f"{kind} ")]


def parted(carrying: Mapping[str, Any], is_meant: Callable[[str, Any], bool]) -> Listed:
    """What carries the tag, by kind and id, as a listing."""
    meant = {name: one for name, one in carrying.items() if is_meant(name, one)}
    return Listed(meant, tuple(name for name in carrying if name not in meant))


@dataclass(frozen=True)
class Lag:
    """How far a cloud's listings may be behind. `unlisted_s` returns how many seconds from now a
    resource of the lease may still be absent, by the first listing of a release; None: what is not
    listed is not there. `listed_s` is how long a deleted one may still be listed."""

    timing: CloudTiming
    unlisted_s: Callable[[Listed], float | None]
    listed_s: float
    repeats: int = 0
    """How many times at least an empty listing is repeated before anything was listed, also when
    the time is over: a clock may be wrong, or the machine slow."""
    watch: RentWatch | None = None


def listed_in_time(
    list_lease: Callable[[Collection[str]], Listed],
    deleted: Collection[str],
    lag: Lag | None,
    first: Listed | None = None,
) -> Listed:
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
        names, now = set(listing.meant), time.monotonic()
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
