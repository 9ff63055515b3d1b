"""What a trial was of, in the words by which published figures are looked up: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.entry import known_catalogue
from diskbench.catalog.published_match import RunSubject
from diskbench.plan.as_disk import hint_of, named_disk
from diskbench.plan.limit_path import cloud_of
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan

GOBONNIEGO_FILE = "import/gobonniego"
"""The provider of runs that were imported from a file of GoBonnieGo's."""

_ROOT = "root"
"""How the names of root disks begin: `root`, `root:TYPE`."""


def asked_of(row: Run, plan: Plan | None) -> RunSubject:
    """What the trial of a run was of; `plan` is None for imported ones.

    A disk that was not rented has a size and no type, for no machine tells the name it is sold by;
    but where a person said which one it was (`--as-disk`), it is that. Raises InvalidValue for a
    label of another form.
    """
    memory, size = row.memory_bytes, row.disk_size_bytes or row.size_bytes
    rental = plan.rental if plan else None
    disk = rental.disk if rental else None
    by_tool = row.provider == GOBONNIEGO_FILE
    profile = "gobonniego" if by_tool else str(row.profile)
    hint = hint_of(row.labels)
    if rental is None and hint.as_disk is not None:
        said = named_disk(hint.as_disk)
        return RunSubject(
            profile=profile,
            parameters=row.parameters,
            cloud=said.cloud,
            disk_type=said.disk_type,
            size_gib=said.size_gib,
            iops=said.iops,
            cache=said.cache,
            instance_type=hint.as_machine or row.instance_type,
            memory_gib=memory / GIB if memory else None,
            by_tool=by_tool,
        )
    return RunSubject(
        profile=profile,
        parameters=row.parameters,
        cloud=cloud_of(rental) if rental else row.cloud or row.provider,
        disk_type=disk.type if disk else None,
        size_gib=disk.size_gib if disk else (size / GIB if size else None),
        iops=disk.iops if disk else None,
        cache=_cache(plan),
        instance_type=row.instance_type,
        region=rental.scope.region if rental else None,
        memory_gib=memory / GIB if memory else None,
        by_tool=by_tool,
    )


def _cache(plan: Plan | None) -> str | None:
    """The host cache, where hosts have one: as typed, or none, which is what a disk that is
    attached gets. A root disk has the one that its image asks for."""
    if plan is None or plan.rental is None:
        return None
    spec, cloud = plan.rental.spec, cloud_of(plan.rental)
    book = known_catalogue(cloud)
    if book is None or book.host_cache is None:
        return None
    cache = spec.text("cache")
    if cache is not None:
        return cache.lower()
    name = spec.disk or ""
    known = book.disks.get(name)
    is_attached = not name.startswith(_ROOT) and (known is None or known.place == "network")
    return "none" if is_attached else None
