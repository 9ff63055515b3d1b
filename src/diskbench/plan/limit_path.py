"""The path from a machine to its disk: of a plan, from what was rented or promised, and of a
catalogue disk that the user names for a run without a plan (`--as-disk`). Pure.

    PROVIDER:gp2:20   PROVIDER:Premium_LRS:256:cache=readonly   PROVIDER:io1:100:iops=5000
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

from diskbench.catalog.books import Books
from diskbench.catalog.bucket import LAB_CUT_BYTES, NO_RULE, Allowance, cut_at, scaled
from diskbench.catalog.expect import path_of
from diskbench.catalog.lookup import DiskLimits, custom_limits, dated_limits
from diskbench.catalog.machine import capped, machine_of
from diskbench.catalog.path import Cache, Gate, Path, promise_gates
from diskbench.catalog.prices import disk_limits
from diskbench.catalog.shipped import caches_disks, known_catalogue
from diskbench.catalog.sourced_figures import LatencyFigure
from diskbench.catalog.terms import Sold, with_terms
from diskbench.errors import InvalidValue, UserError
from diskbench.model.base import Frozen
from diskbench.model.expectation import Promise
from diskbench.model.options import RentSpec
from diskbench.model.rental import CUSTOM, DiskSpec, Rental
from diskbench.model.spec import EMULATED_PROVIDERS, Plan
from diskbench.plan.cells import read_promise
from diskbench.plugin import known_plugin, network_nvme_models
from diskbench.units import MIB

CACHES: dict[str, Cache] = {"none": "none", "readonly": "read-only", "readwrite": "read-write"}
FORM = "CLOUD:TYPE:GIB as `diskbench catalog disks` lists them, then :iops=N or :cache=readonly"
_MORE = frozenset({"iops", "throughput", "cache"})


def limit_path_of(plan: Plan, books: Books, *, disks: int | None = None) -> Path | None:
    """Return the path to a plan's disk, or to all of its disks, or to `disks` of them; None if none
    of its limits is known. Limits of several disks are summed; those of the machine are not."""
    rental, promise = plan.rental, plan.cell.promise
    count = disks or max(len(plan.target.disks), 1)
    if rental is None:
        return _owned(plan, promise, count, books) if promise else None
    if disks is not None and rental.disk is not None:
        rental = rental.model_copy(update={"disk": rental.disk.model_copy(update={"count": disks})})
    limit = rental.spec.number("iops_limit")
    if limit is not None:
        return _limited(limit, rental, promise, count)
    rented = _rented(rental, books)
    if rented is not None and rented.gates:
        return rented
    return promised_limit_path(promise, rental.catalogue, count) if promise is not None else None


def _owned(plan: Plan, promise: Promise, count: int, books: Books) -> Path:
    """Return the path to disks with promised limits on an existing machine: with those of its type
    towards network disks, where the cloud, the type and the kind of disk are known."""
    cloud, disk = plan.facts.cloud, plan.facts.disk
    path = promised_limit_path(promise, plan.cell.provider, count)
    network = disk is not None and any(name in (disk.model or "") for name in network_nvme_models())
    if not (network and cloud.vendor and cloud.instance_type and known_plugin(cloud.vendor)):
        return path
    on = machine_of(books, cloud.vendor, cloud.instance_type, "")
    gates = tuple(gate for gate in on.gates if gate.limit in ("vm-iops", "vm-throughput"))
    return replace(
        path,
        gates=(*path.gates, *gates),
        sources=(*path.sources, *(gate.source for gate in gates)),
        unknown=() if gates else (f"limits of {cloud.instance_type}",),
    )


def promised_limit_path(promise: Promise, cloud: str, count: int = 1) -> Path:
    """Return the path to a disk with the limits that its owner promised, or to `count` such disks;
    requests are counted by the rule of `cloud`."""
    figures = {"iops": promise.iops, "mb_per_s": promise.mb_per_s}
    of_all = promise.model_copy(
        update={name: value * count for name, value in figures.items() if value is not None}
    )
    book = known_catalogue(cloud)
    counted = book.accounting.rule() if book and book.accounting else None
    return Path(promise_gates(of_all, counted), sources=("--promise",))


def _limited(limit: float, rental: Rental, promise: Promise | None, disks: int) -> Path:
    cloud, count = rental.catalogue, rental.disk.count if rental.disk else 1
    book = known_catalogue(cloud)
    rule = book.accounting if book else None
    source_words = f"; {book.sources[rule.source].words()}" if book and rule else ""
    gate = Gate(
        "disk-iops",
        "ios",
        Allowance(limit * count),
        accounting=rule.rule() if rule else NO_RULE,
        source=f"--iops-limit{source_words}",
    )
    more = promised_limit_path(promise, cloud, disks) if promise else Path()
    return Path((gate, *more.gates), sources=(gate.source, *more.sources))


def _rented(rental: Rental, books: Books) -> Path | None:
    if rental.disk is None:
        return None
    cloud, spec = rental.catalogue, rental.spec
    disk = _limits(cloud, rental.disk, spec)
    if disk is None:
        return None
    on_lab = rental.scope.provider in EMULATED_PROVIDERS or rental.spec.endpoint_url is not None
    machine = machine_of(books, cloud, rental.instance_type, rental.disk.type)
    if on_lab:  # a lab disk has exactly the latency that --latency sets
        ms, accounting = spec.number("latency_ms"), cut_at(disk.accounting, LAB_CUT_BYTES)
        latency = LatencyFigure(best_ms=ms, worst_ms=ms, source="--latency") if ms else None
        disk = replace(disk, accounting=accounting, latency=latency, write_latency=None, hit=None)
    rate = (spec.number("vm_throughput_mib_per_s") or 0) * MIB
    caps = capped(spec.number("vm_iops"), rate, "--vm-…", disk.accounting)
    if rental.scope.provider in EMULATED_PROVIDERS:
        gates = tuple(
            replace(gate, allowance=scaled(gate.allowance, time_scale=spec.time_scale))
            for gate in machine.gates
        )
        machine = Path(gates)
    machine = replace(machine, gates=(*machine.gates, *caps.gates))
    cache = CACHES.get(_cache_name(spec.text("cache") or "none"), "none")
    scale = spec.time_scale
    path = path_of(disk, machine, count=rental.disk.count, cache=cache, time_scale=scale)
    unknown = path.unknown if disk.pools else (*path.unknown, f"limits of {rental.disk.type}")
    return replace(path, unknown=unknown, holds_credit=rental.holds_credit)


def _limits(cloud: str, disk: DiskSpec, spec: RentSpec) -> DiskLimits | None:
    if disk.type == CUSTOM:
        return custom_limits(disk.size_gib, disk.iops, disk.throughput_mib_per_s, disk.io_kib)
    sold = disk_limits(cloud, disk)
    if sold is None:
        return None
    try:
        return with_terms(
            cloud,
            sold,
            tier=spec.text("performance_tier"),
            plus=spec.flag("performance_plus"),
            bursting=spec.flag("bursting"),
        )
    except UserError:  # the catalogue has no such tier or bursting, so the limits are unknown
        return sold


def named_disk(words: str) -> Sold:
    """Split a typed disk into its parts. Raises InvalidValue for a malformed text."""
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
    cache = pairs.get("cache", "none" if caches_disks(cloud.lower()) else None)
    if cache and _cache_name(cache) not in CACHES:
        raise InvalidValue(
            f"{words!r}: {_cache_name(cache)!r} is not a host cache",
            advice="write cache=none, cache=readonly or cache=readwrite",
        )
    return Sold(
        cloud=cloud.lower(),
        disk_type=disk_type,
        size_gib=_figure(words, size),
        iops=_figure(words, pairs["iops"]) if "iops" in pairs else None,
        throughput=_figure(words, pairs["throughput"]) if "throughput" in pairs else None,
        cache=_cache_name(cache) if cache else None,
    )


def _cache_name(text: str) -> str:
    return text.lower().replace("-", "")


def _figure(words: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise InvalidValue(
            f"{words!r}: {text!r} is not a size or rate above 0", advice=f"write {FORM}"
        )
    return value


def limit_paths_of(
    named: Sold, machine: str | None, books: Books, *, day: str | None = None
) -> tuple[Path, ...]:
    """Return the paths to a disk, through a machine type of the same cloud if it is known: by the
    limits that may have held on a day (`2018-03-16`), the latest first; by all known ones without a
    day. Raises UserError for an unknown disk."""
    cloud, cache = named.cloud, CACHES[named.cache or "none"]
    figures = named.size_gib, named.iops, named.throughput
    on = machine_of(books, cloud, machine, named.disk_type)
    on = replace(on, unknown=_unknown(on, machine, cloud, books))
    dated = dated_limits(cloud, named.disk_type, *figures, day=day)
    return tuple(path_of(version, on, cache=cache) for version in dated)


def _unknown(on: Path, machine: str | None, cloud: str, books: Books) -> tuple[str, ...]:
    """What is not known of the machine that was named, with the types that are near it."""
    if not machine or on.gates or not on.unknown:
        named = machine and not on.gates and not books.of(cloud).machines.types
        return (f"limits of {machine}",) if named else ()
    near = get_close_matches(machine, books.of(cloud).machines.types, n=3)
    return (on.unknown[0] + (f" (near: {', '.join(near)})" if near else ""),)


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
        cache = named_disk(self.as_disk).cache if self.as_disk is not None else None
        return cache not in (None, "none")

    def labels(self) -> dict[str, str]:
        """Return the values as labels of a run."""
        return {name: value for name, value in self.model_dump().items() if value is not None}

    def limit_paths(
        self, books: Books, provider: str = "", day: str | None = None
    ) -> tuple[Path, ...]:
        """Return the paths that the disk may have had on the day of the measurement, the latest
        first; none if the user stated nothing. `provider` is the run's, whose catalogue says how
        requests are counted, and `day` the run's unless the user stated one. Raises InvalidValue,
        UserError."""
        if self.as_disk is not None:
            on = self.measured_on or day
            return limit_paths_of(named_disk(self.as_disk), self.as_machine, books, day=on)
        if self.promise is not None:
            promised = promised_limit_path(read_promise(self.promise), provider)
            if self.as_machine:
                unknown = f"limits of {self.as_machine}: --promise names no cloud (--as-disk does)"
                promised = replace(promised, unknown=(unknown,))
            return (promised,)
        return ()

    def on_machine(self, cloud: str | None, machine: str | None) -> Hint:
        """The hint with the machine type that a run recorded of its host, if it is of the disk's
        cloud and the user named none."""
        if self.as_disk is None or self.as_machine or not machine:
            return self
        is_of_cloud = named_disk(self.as_disk).cloud == cloud
        return self.model_copy(update={"as_machine": machine}) if is_of_cloud else self


def hint_of(labels: Mapping[str, str]) -> Hint:
    """Read a disk hint from the labels of a run."""
    return Hint(**{name: labels[name] for name in Hint.model_fields if name in labels})
