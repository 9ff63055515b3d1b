"""A trial in the terms by which published figures are matched, and the verdict on a published
figure from what its post records, by the same rules as ours: pure.

A doubt that the post states itself and the rules do not find is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median, stdev

from diskbench.analysis.setting import FEWEST_FLAT, LINKS, Medium, Setting, Stretch, device_rate
from diskbench.analysis.stretches import Measured, StepPromise
from diskbench.analysis.trust import in_order, trust
from diskbench.analysis.verdict import sentence, verdict
from diskbench.catalog.books import Books
from diskbench.catalog.entry import known_catalogue
from diskbench.catalog.expect import expect_on
from diskbench.catalog.lookup import disk_types
from diskbench.catalog.post_file import Published
from diskbench.catalog.published import RunSubject, load_published
from diskbench.errors import DiskbenchError
from diskbench.model.doubts import OTHER_DISK, Reason, doubt_of
from diskbench.model.expectation import Load
from diskbench.model.processor import MachineUse
from diskbench.model.run import Run
from diskbench.model.spec import Plan
from diskbench.model.verdict import Limiter, LimiterName, Verdict
from diskbench.plan.identify import Level, identify
from diskbench.plan.limit_path import CACHES, Named, hint_of, limit_paths_of, named_disk
from diskbench.units import GIB, KIB, MIB

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
    hint = hint_of(row.labels)
    subject = RunSubject(
        profile="gobonniego" if by_tool else str(row.profile),
        parameters=row.parameters,
        instance_type=row.instance_type,
        memory_gib=memory / GIB if memory else None,
        by_tool=by_tool,
    )
    if rental is None and hint.as_disk is not None:
        stated = vars(named_disk(hint.as_disk))
        names = ("cloud", "disk_type", "size_gib", "iops", "cache")
        machine = hint.as_machine or row.instance_type
        return replace(subject, instance_type=machine, **{name: stated[name] for name in names})
    return replace(
        subject,
        cloud=rental.catalogue if rental else row.cloud or row.provider,
        disk_type=disk.type if disk else None,
        size_gib=disk.size_gib if disk else (size / GIB if size else None),
        iops=disk.iops if disk else None,
        cache=_cache(plan),
        region=rental.scope.region if rental else None,
    )


def _cache(plan: Plan | None) -> str | None:
    """Return the host cache if the provider has one: as typed, or `none`, the default of an
    attached disk. A root disk has the cache that its image specifies."""
    if plan is None or plan.rental is None:
        return None
    spec, book = plan.rental.spec, known_catalogue(plan.rental.catalogue)
    if book is None or book.host_cache is None:
        return None
    if (cache := spec.text("cache")) is not None:
        return cache.lower()
    name = spec.disk or ""
    known = book.disks.get(name)
    is_attached = not name.startswith(_ROOT) and (known is None or known.place == "network")
    return "none" if is_attached else None


_ALIKE = 0.05
_FEWEST_LEVELS = 2
_FEWEST_ALIKE = 3
_FEWEST_KINDS = 2
_CACHED = frozenset(CACHES) - {"none"}
_OPEN = frozenset({"unknown", "fixed-limit"})
"""Limiters that a better known one replaces."""
_TWICE_THE_MEMORY = frozenset({"gobonniego", "bonnie"})
_LOADS = {
    "rand-512-9to1": Load(block_bytes=512, read_share=0.9, direct=False),
    "seq-read-64k": Load(block_bytes=64 * KIB, random=False, direct=False),
    "seq-write-64k": Load(block_bytes=64 * KIB, read_share=0.0, random=False, direct=False),
    "buffered-reads-t": Load(block_bytes=2 * MIB, random=False, direct=False),
    "dd-write": Load(block_bytes=4 * KIB, read_share=0.0, random=False, direct=False),
    "randrw80-4k-qd64": Load(block_bytes=4 * KIB, read_share=0.8, depth=64),
}
"""GoBonnieGo's steps (bench/bench.go), hdparm's -t, dd's and those of the fio line that was
published, by their names in our profiles. GoBonnieGo's queue depth is unknown."""


def published_verdict(figure: Published, books: Books) -> Verdict:
    """Return what was promised for a published figure, what limited it, and whether to trust it.
    For a latency only the last is decided."""
    load = _LOADS.get(figure.step)
    iops = figure.value if figure.metric == "iops" else None
    moved = figure.value if figure.metric == "bytes_per_s" else None
    if load is not None:
        iops = iops if iops is not None else (moved or 0.0) / load.block_bytes
        moved = moved if moved is not None else iops * load.block_bytes
    measured = Measured(
        step_index=0,
        step=figure.step,
        iops=iops,
        bytes_per_s=moved,
        seconds=figure.runtime_s or 0.0,
        cov=stdev(runs) / fmean(runs) if len(runs := figure.samples) >= FEWEST_FLAT else None,
    )
    link = figure.disk_type.partition("-")[0]
    setting = Setting(
        load=load,
        seconds=figure.runtime_s,
        processor=MachineUse(busiest_core=figure.busiest_core),
        host_cache=figure.cache in _CACHED,
        network="iscsi" if figure.disk_type.startswith("iscsi") else None,
        medium=Medium(link) if link in LINKS else None,
        memory_share=_memory_share(figure),
    )
    promise = _promise(figure, load, books, iops)
    judgement = _with_neighbours(verdict(measured, setting, promise), figure)
    other = _other_disk(figure, promise)
    if other is not None and judgement.stands_for.limiter.name in _OPEN:
        of_other = verdict(measured, setting, _promise(other, load, books, iops))
        by = of_other.stands_for.limiter
        if by.name != "unknown":  # the limit of the disk that it behaves as, and the doubt
            beside = OTHER_DISK.reason("; ".join(by.evidence))
            judgement = _limited(judgement, by, in_order((beside, *judgement.reasons)))
    doubt = figure.doubt
    if doubt is None or any(reason.code == doubt.code for reason in judgement.reasons):
        return judgement
    stated = doubt_of(doubt.code).reason(doubt.words)
    judgement = verdict(measured, setting, promise, reasons=(stated,))
    if doubt.code != "served-from-cache" or judgement.stands_for.limiter.name not in _OPEN:
        return judgement
    below: LimiterName = "host-cache" if figure.cache in _CACHED else "page-cache"
    return _limited(judgement, Limiter(name=below, evidence=(doubt.words,)), judgement.reasons)


def _limited(judgement: Verdict, by: Limiter, reasons: Sequence[Reason]) -> Verdict:
    """The verdict with another limit, and with these reasons to doubt it."""
    stretch = judgement.stands_for.model_copy(update={"limiter": by})
    doubted = {"stretches": (stretch,), "reasons": tuple(reasons), "trust": trust(reasons)}
    judged = judgement.model_copy(update=doubted)
    return judged.model_copy(update={"sentence": sentence(judged)})


def _other_disk(figure: Published, promise: StepPromise | None) -> Published | None:
    """Return the figure as one of another disk type of its cloud, where that explains all figures
    of the disk, at least two, and the type that the post names explains none of them."""
    beside = [
        (other, load)
        for other in load_published()
        if (other.seed, other.table, other.machine, other.disk)
        == (figure.seed, figure.table, figure.machine, figure.disk)
        and (load := _LOADS.get(other.step)) is not None
    ]
    if promise is None or len(beside) < _FEWEST_LEVELS or figure.cache in _CACHED:
        return None
    levels = [Level(other.id, load, _written(other, load)) for other, load in beside]
    fits = identify(levels, cloud=figure.provider, day=figure.post.date)
    matching = [named_disk(fit.disk) for fit in fits if not fit.misses]
    if not matching or any(disk.disk_type == figure.disk_type for disk in matching):
        return None
    own = next((disk for disk in matching if disk.size_gib >= (figure.size_gib or 0)), matching[0])
    return figure.model_copy(update={"disk_type": own.disk_type, "size_gib": own.size_gib})


def _written(figure: Published, load: Load) -> float:
    """Return the blocks per second that reached the disk."""
    iops = figure.value if figure.metric == "iops" else figure.value / load.block_bytes
    setting = Setting(load=load, memory_share=_memory_share(figure))
    return device_rate(Stretch(iops, None), setting) or 0.0


def _with_neighbours(judgement: Verdict, figure: Published) -> Verdict:
    """Name the machine's own limit where disks of different types do the same on it (joint look):
    three disks of two types or more within 5 % of their median, and no cap of the disk explains
    it."""
    if judgement.stands_for.limiter.name not in _OPEN:
        return judgement
    beside = {
        other.disk: (other.disk_type, other.value)
        for other in load_published()
        if (other.seed, other.table, other.machine, other.step, other.metric)
        == (figure.seed, figure.table, figure.machine, figure.step, figure.metric)
        and other.doubt is None
    }
    middle = median(value for _, value in beside.values()) if beside else 0.0
    alike = {
        disk: kind for disk, (kind, value) in beside.items() if abs(value / middle - 1) <= _ALIKE
    }
    kinds = set(alike.values())
    if figure.disk not in alike or len(alike) < _FEWEST_ALIKE or len(kinds) < _FEWEST_KINDS:
        return judgement
    words = f"{len(alike)} disks of {len(kinds)} types do the same on this machine, within 5 %"
    by = Limiter(name="fixed-limit", evidence=(words,))
    return _limited(judgement, by, judgement.reasons)


def _memory_share(figure: Published) -> float | None:
    """Return the memory over the bytes written: GoBonnieGo and bonnie++ write twice the memory."""
    if figure.profile in _TWICE_THE_MEMORY:
        return 0.5
    written = figure.parameters.get("bs", 0.0) * figure.parameters.get("count", 0.0)
    return figure.memory_gib * GIB / written if figure.memory_gib and written else None


def _promise(
    figure: Published, load: Load | None, books: Books, iops: float | None
) -> StepPromise | None:
    """Return what was promised on the day of the post; of several that may have held the one that
    the figure fits."""
    if load is None or figure.size_gib is None:
        return None
    try:
        if figure.disk_type not in disk_types(figure.provider):
            return None
        sold, cache = figure.provisioned_iops, figure.cache if figure.cache in CACHES else None
        named = Named(figure.provider, figure.disk_type, figure.size_gib, sold, cache=cache)
        paths = limit_paths_of(named, figure.instance_type, books, day=figure.post.date)
    except DiskbenchError:
        return None
    promises = []
    for way in paths:
        expected = expect_on(way.path, load)
        if expected is not None and way.limits is not None:
            credit = {gate.limit: 1.0 for gate in way.path.gates if gate.capacity}
            until = way.limits.until
            promises.append(StepPromise(expected, credit=credit, is_guess=True, until=until))
    fitting = [promise for promise in promises if iops is not None and promise.is_near(iops)]
    return next(iter(fitting or promises), None)
