"""Which leases and resources the ids given to `gc` mean, and which must not be released.

A lease of this database may be named by the beginning of its id. A lease that only a provider lists
may belong to somebody else and needs its full id; while it has not expired, and its owner tag is
not this installation's `owner`, it needs `--not-mine`, too. A resource that carries a lease's tags
without having been made for it is named by its own full id only.
"""

import re
from collections.abc import Callable, Collection, Sequence

from diskbench.engine.trial.release import place
from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.ids import Known, beginning, meant, owned
from diskbench.model.rental import Found
from diskbench.store.leases import Lease

_TAG_LENGTH = 63
"""The shortest owner tag that any provider keeps whole."""


def ids_of_leases(leases: Sequence[Lease], shared: Collection[str] = ()) -> list[Known]:
    """The ids that may be typed for leases: their own, and those of their runs. The id of a run on
    a machine that trials share (`shared`: the machines' leases) means its trial's lease."""
    own = {lease.lease_id for lease in leases}
    by_id: dict[str, Known] = {}
    for lease in sorted(leases, key=lambda lease: lease.lease_id in shared):
        at = place(lease.provider, lease.region or lease.address)
        by_id[lease.lease_id] = Known(lease.lease_id, "lease", where=at)
        for run_id in lease.run_ids:
            if run_id not in own:
                by_id.setdefault(run_id, Known(run_id, "run", where=at, means=lease.lease_id))
    return list(by_id.values())


def choose(
    ids: Sequence[str],
    *,
    ours: Sequence[Known],
    released: Collection[str],
    listed: Sequence[Found],
    all_listed: bool,
    owner: str,
    not_mine: bool,
    is_over: Callable[[Found], bool],
) -> tuple[list[str], list[Found], list[tuple[Found, str]]]:
    """The items that the ids mean, among the open leases `ours` and what a provider listed: open
    leases, listed leases, and full ids of resources that carry a lease's tags but were not made for
    it, each with that lease. One id that must not be released makes the whole call raise.

    `released` are the listed leases that this database knows. `all_listed` says whether all regions
    were listed: where not, an unknown name may be that of something unlisted, and is skipped.
    `is_over` says whether a listed lease has expired. Raises UnknownName, InvalidValue.
    """
    open_ids = {known.id for known in ours}
    theirs = []
    for lease in listed:
        if lease.resources and lease.lease_id not in open_ids:
            at = place(lease.scope.provider, lease.scope.region)
            tagged = f"owner {lease.owner}" if lease.owner else "no owner tagged"
            theirs.append(Known(lease.lease_id, "lease", where=f"{at}, {tagged}"))
    leases: dict[str, None] = {}
    chosen: dict[int, Found] = {}
    copies: dict[str, tuple[Found, str]] = {}
    for name in ids:
        copy = _copy_with_id(name, listed)
        if copy is not None:
            copies[copy[1]] = copy
            continue
        try:
            meaning = meant(name, [*ours, *theirs], "lease that is open or listed")
        except UnknownName:
            if all_listed:
                raise
            continue
        if meaning in ours:
            leases[meaning.stands_for] = None
            continue
        by_index = {n: e for n, e in enumerate(listed) if e.lease_id == meaning.id and e.resources}
        if meaning.id not in released:
            for stranger in by_index.values():
                _check_stranger(name, stranger, owner, not_mine=not_mine, is_over=is_over)
        chosen |= by_index
    return list(leases), list(chosen.values()), list(copies.values())


def is_same_owner(tagged: str | None, owner: str) -> bool:
    """Whether an owner tag may be `owner` as a cloud stores it: clouds replace some characters,
    change capitals to small letters, and cut long values."""

    def folded(text: str) -> str:
        return re.sub(r"[^a-z0-9]", "_", text.lower())[:_TAG_LENGTH]

    return tagged is not None and folded(tagged) == folded(owner)


def _check_stranger(
    name: str, listed_lease: Found, owner: str, *, not_mine: bool, is_over: Callable[[Found], bool]
) -> None:
    at = place(listed_lease.scope.provider, listed_lease.scope.region)
    command = f"diskbench gc --provider {listed_lease.scope.provider}"
    if beginning(name, "lease") != listed_lease.lease_id:
        raise InvalidValue(
            f"{name.strip()!r} matches a lease that this database does not know, on {at}:"
            f"\n  {owned(listed_lease.lease_id, listed_lease.owner)}",
            advice=f"to delete it, type its full id: {command} {listed_lease.lease_id}",
        )
    if not (not_mine or is_same_owner(listed_lease.owner, owner) or is_over(listed_lease)):
        raise InvalidValue(
            f"{owned(listed_lease.lease_id, listed_lease.owner)}, on {at}: it has not expired, "
            f"and its owner is not {owner}",
            advice="ask its owner, or wait until it expires; to end it anyway: "
            f"{command} --not-mine {listed_lease.lease_id}",
        )


def _copy_with_id(name: str, listed: Sequence[Found]) -> tuple[Found, str] | None:
    """The resource with this full id (`vol-0abc`, or `volume vol-0abc`) that carries a lease's tags
    but was not made for it. Raises InvalidValue when several have this id."""
    resource_id = name.strip().lower()
    matches = [
        (lease, resource)
        for lease in listed
        for resource in lease.not_ours
        if resource_id and resource_id in {resource.lower(), resource.lower().partition(" ")[2]}
    ]
    if len(matches) > 1:
        places = ", ".join(f"{what} in {at.scope.region or 'no region'}" for at, what in matches)
        raise InvalidValue(
            f"{name.strip()!r} is the id of several resources: {places}",
            advice="choose one with --region",
        )
    return next(iter(matches), None)
