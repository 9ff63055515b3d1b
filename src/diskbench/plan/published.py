"""The subject of a trial, in the terms by which published figures are matched: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.entry import known_catalogue
from diskbench.catalog.published import RunSubject
from diskbench.plan.as_disk import hint_of, named_disk
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan

GOBONNIEGO_FILE = "import/gobonniego"
"""The provider of runs that were imported from a GoBonnieGo file."""

_ROOT = "root"
"""The prefix of root disk names: `root`, `root:TYPE`."""


def asked_of(row: Run, plan: Plan | None) -> RunSubject:
    """Return the subject of a run's trial; `plan` is None for imported runs.

    A disk that was not rented has a size but no type, since a machine does not know the name under
    which its disk is sold, unless the user stated it (`--as-disk`). Raises InvalidValue for a
    malformed label.
    """
    memory, size = row.memory_bytes, row.disk_size_bytes or row.size_bytes
    rental = plan.rental if plan else None
    disk = rental.disk if rental else None
    by_tool = row.provider == GOBONNIEGO_FILE
    profile = "gobonniego" if by_tool else str(row.profile)
    hint = hint_of(row.labels)
    if rental is None and hint.as_disk is not None:
        stated = named_disk(hint.as_disk)
        return RunSubject(
            profile=profile,
            parameters=row.parameters,
            cloud=stated.cloud,
            disk_type=stated.disk_type,
            size_gib=stated.size_gib,
            iops=stated.iops,
            cache=stated.cache,
            instance_type=hint.as_machine or row.instance_type,
            memory_gib=memory / GIB if memory else None,
            by_tool=by_tool,
        )
    return RunSubject(
        profile=profile,
        parameters=row.parameters,
        cloud=rental.catalogue if rental else row.cloud or row.provider,
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
    """Return the host cache if the provider has one: as typed, or `none`, the default of an
    attached disk. A root disk has the cache that its image specifies."""
    if plan is None or plan.rental is None:
        return None
    spec, cloud = plan.rental.spec, plan.rental.catalogue
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
