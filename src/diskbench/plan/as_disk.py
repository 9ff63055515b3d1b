"""A catalogue disk that the user names for a run without a plan (`--as-disk`): pure.

PROVIDER:gp2:20   PROVIDER:Premium_LRS:256:cache=readonly   PROVIDER:io1:100:iops=5000
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.entry import caches_disks
from diskbench.catalog.expect import CatalogDisk, path_of
from diskbench.catalog.lookup import dated_limits
from diskbench.catalog.machine import machine_of
from diskbench.errors import InvalidValue
from diskbench.model.base import Frozen
from diskbench.plan.cells import read_promise
from diskbench.plan.limit_path import LimitPath, promised_limit_path

if TYPE_CHECKING:
    from diskbench.catalog.books import Books
    from diskbench.catalog.lookup import DiskLimits
    from diskbench.catalog.path import Cache

FORM = "CLOUD:TYPE:GIB as `diskbench catalog disks` lists them, then :iops=N or :cache=readonly"
_CACHES: dict[str, Cache] = {
    "none": "none",
    "readonly": "read-only",
    "readwrite": "read-write",
}
_MORE = frozenset({"iops", "throughput", "cache"})


def limit_paths_of_words(
    words: str, machine: str | None, books: Books, *, day: str | None = None
) -> tuple[LimitPath, ...]:
    """Return the paths to the disk that the user typed, through a machine type of the same cloud if
    it is known: by the limits that may have held on a day (`2018-03-16`), the latest first; by all
    known ones without a day. Raises InvalidValue for a malformed text, UserError for an unknown
    disk."""
    cloud, disk_type, size_gib, more = _read(words)
    figures = {name: _number(words, more[name]) for name in ("iops", "throughput") if name in more}
    versions = dated_limits(cloud, disk_type, size_gib, **figures, day=day)
    return tuple(
        _limit_path(words, disk_limits, more, cloud, machine, books) for disk_limits in versions
    )


def _limit_path(
    words: str,
    disk_limits: DiskLimits,
    more: Mapping[str, str],
    cloud: str,
    machine: str | None,
    books: Books,
) -> LimitPath:
    cache = more.get("cache", "none").lower().replace("-", "")
    if cache not in _CACHES:
        raise InvalidValue(
            f"{words!r}: {more['cache']!r} is not a host cache",
            advice="write cache=none, cache=readonly or cache=readwrite",
        )
    on = machine_of(books, cloud, machine, disk_limits.disk_type)
    sources = [source.words() for source in disk_limits.sources] + [
        gate.source for gate in on.gates
    ]
    return LimitPath(
        path_of(CatalogDisk(disk_limits, 1, _CACHES[cache]), on),
        disk_limits,
        tuple(dict.fromkeys(sources)),
        (on.unknown,) if on.unknown else (),
    )


@dataclass(frozen=True)
class Named:
    """The parts of a typed disk. `throughput` is in the unit in which the cloud sells it. `cache`
    is the host cache: none, readonly or readwrite; None where hosts do not cache disks."""

    cloud: str
    disk_type: str
    size_gib: float
    iops: float | None = None
    throughput: float | None = None
    cache: str | None = None


def named_disk(words: str) -> Named:
    """Split a typed disk into its parts. Raises InvalidValue for a malformed text."""
    cloud, disk_type, size_gib, more = _read(words)
    cache = more.get("cache", "none" if caches_disks(cloud) else None)
    return Named(
        cloud=cloud,
        disk_type=disk_type,
        size_gib=size_gib,
        iops=_number(words, more["iops"]) if "iops" in more else None,
        throughput=_number(words, more["throughput"]) if "throughput" in more else None,
        cache=cache.lower().replace("-", "") if cache else None,
    )


class Hint(Frozen):
    """What the user states about a disk that diskbench did not rent: its catalogue type, the
    machine type that it was attached to, or the performance that its owner expects, and the day of
    the measurement (`2018-03-16`), which chooses the limits in the catalogue. For an imported run
    these are stored in the run's labels under the same names."""

    as_disk: str | None = None
    as_machine: str | None = None
    promise: str | None = None
    measured_on: str | None = None

    @property
    def has_cache(self) -> bool:
        """Whether the user stated a host cache for the disk."""
        return self.as_disk is not None and _read(self.as_disk)[3].get("cache", "none") != "none"

    def labels(self) -> dict[str, str]:
        """Return the values as labels of a run."""
        return {name: value for name, value in self.model_dump().items() if value is not None}

    def limit_path(self, books: Books, provider: str = "") -> LimitPath | None:
        """Return the path to the disk; None if the user stated nothing. `provider` is the run's;
        its catalogue says how requests are counted. Raises InvalidValue, UserError."""
        return next(iter(self.limit_paths(books, provider)), None)

    def limit_paths(
        self, books: Books, provider: str = "", day: str | None = None
    ) -> tuple[LimitPath, ...]:
        """Return the paths that the disk may have had on the day of the measurement, the latest
        first; `day` is that of the run, unless the user stated one. Raises as `limit_path`."""
        if self.as_disk is not None:
            on = self.measured_on or day
            return limit_paths_of_words(self.as_disk, self.as_machine, books, day=on)
        if self.promise is not None:
            return (promised_limit_path(read_promise(self.promise), provider),)
        return ()


def hint_of(labels: Mapping[str, str]) -> Hint:
    """Read a disk hint from the labels of a run."""
    return Hint(**{name: labels[name] for name in Hint.model_fields if name in labels})


def _read(words: str) -> tuple[str, str, float, dict[str, str]]:
    parts = [part.strip() for part in words.split(":")]
    if len(parts) < 3 or not all(parts):
        raise InvalidValue(f"{words!r} is not a disk of a cloud", advice=f"write {FORM}")
    cloud, disk_type, size, *more = parts
    pairs = dict(part.partition("=")[::2] for part in more)
    if unknown := pairs.keys() - _MORE:
        raise InvalidValue(
            f"{words!r}: {', '.join(sorted(unknown))} is not a property of a disk",
            advice=f"after the size, add {', '.join(sorted(_MORE))}",
        )
    return cloud.lower(), disk_type, _number(words, size), pairs


def _number(words: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise InvalidValue(
            f"{words!r}: {text!r} is not a size or rate above 0", advice=f"write {FORM}"
        )
    return value
