"""A trial beside published figures, and the verdict on a published figure from what its post
records, by the same rules as ours: pure. A doubt that the post states itself and the rules do not
find is added.

A figure matches a run when all of these agree, in this order:

    workload     the profile that repeats it, and the parameters that the figure names
    cloud        whose disk it is
    disk type    in the cloud's own name
    caching      the host's, where the figure says how it was set
    IOPS         provisioned, within a factor of 2 where both are known
    size         within a factor of 2 where both are known

The two factors are our choice. What is not known on either side does not part them: it is listed as
a reason why they may differ. Of several machines that match, those of the run's own instance type
are preferred. Where nothing matches, the nearest figures are those that part latest in this order.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from statistics import fmean, median, stdev
from typing import Any

from diskbench.analysis.setting import FEWEST_FLAT, Setting, Stretch, device_rate
from diskbench.analysis.stretches import Measured, StepPromise
from diskbench.analysis.trust import in_order, trust
from diskbench.analysis.verdict import sentence, verdict
from diskbench.catalog.books import Books
from diskbench.catalog.expect import expect_on
from diskbench.catalog.published import LOADS, RATES, Published, both_rates, load_published
from diskbench.catalog.shipped import known_catalogue
from diskbench.errors import DiskbenchError
from diskbench.model.base import Frozen
from diskbench.model.doubts import OTHER_DISK, Reason, doubt_of
from diskbench.model.expectation import Load
from diskbench.model.processor import MachineUse
from diskbench.model.run import GOBONNIEGO_FILE, PUBLISHED, Run
from diskbench.model.spec import Plan
from diskbench.model.verdict import Limiter, LimiterName, Verdict
from diskbench.plan.identify import Level, identify
from diskbench.plan.limit_path import CACHES, hint_of, named_disk
from diskbench.units import GIB

FACTOR = 2.0
"""Sizes and provisioned IOPS within it are taken for the same disk. Our choice."""

NEAREST = 3
_CRITERIA = ("workload", "cloud", "disk type", "caching", "IOPS", "size")
_ROOT = "root"
"""The prefix of root disk names: `root`, `root:TYPE`."""


@dataclass(frozen=True)
class RunSubject:
    """What a run was of. None is unknown; `parameters` are the profile's as used. `by_tool`: the
    tool itself measured it, and fio did not repeat it."""

    profile: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    cloud: str | None = None
    disk_type: str | None = None
    size_gib: float | None = None
    iops: float | None = None
    cache: str | None = None
    instance_type: str | None = None
    region: str | None = None
    memory_gib: float | None = None
    by_tool: bool = False


def asked_of(row: Run, plan: Plan | None) -> RunSubject:
    """Return the subject of a run's trial; `plan` is None for imported runs.

    A disk that was not rented has a size but no type, since a machine does not know the name under
    which its disk is sold, unless the user stated it (`--as-disk`). Raises InvalidValue for a
    malformed label.
    """
    rental, hint, machine = plan.rental if plan else None, hint_of(row.labels), row.instance_type
    region = rental.scope.region if rental else None
    names = ("cloud", "disk_type", "size_gib", "iops", "cache")
    sold: tuple[Any, ...]
    if row.has("published"):
        of_disk = ("disk_cloud", "disk_type", "disk_gib", "provisioned_iops", "host_cache")
        sold, region = attrgetter(*of_disk)(row), row.region
    elif rental is None and hint.as_disk is not None:
        machine = hint.as_machine or machine
        sold = attrgetter(*names)(named_disk(hint.as_disk))
    else:
        disk, size = rental.disk if rental else None, row.disk_size_bytes or row.size_bytes
        unsold = (None, size / GIB if size else None, None)
        known = (disk.type, disk.size_gib, disk.iops) if disk else unsold
        sold = (rental.catalogue if rental else row.cloud or row.provider, *known, _cache(plan))
    return RunSubject(
        "gobonniego" if row.provider == GOBONNIEGO_FILE else str(row.profile),
        row.parameters,
        **dict(zip(names, sold, strict=True)),
        instance_type=machine,
        region=region,
        memory_gib=row.memory_bytes / GIB if row.memory_bytes else None,
        by_tool=row.provider in (GOBONNIEGO_FILE, PUBLISHED),
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


def matching(asked: RunSubject, figures: Iterable[Published]) -> tuple[Published, ...]:
    """The published figures that a run may be set beside."""
    matched = tuple(figure for figure in figures if part(asked, figure) is None)
    return tuple(f for f in matched if f.instance_type == asked.instance_type) or matched


class NearFigure(Frozen):
    """A published disk that does not match, named by the prefix of its ids, and why.

    `same_workload`: it was measured with the run's workload, so it is compared when it is named.
    """

    name: str
    why: str
    same_workload: bool


def nearest(asked: RunSubject, figures: Iterable[Published]) -> tuple[str, tuple[NearFigure, ...]]:
    """Why none of these figures matches a run, and the disks that part from it latest, of several
    those of the nearest size."""

    def distance(pair: tuple[Published, tuple[str, str]]) -> tuple[int, float]:
        figure, (criterion, _) = pair
        return -_CRITERIA.index(criterion), _octaves(figure.size_gib, asked.size_gib)

    parted = [(figure, where) for figure in figures if (where := part(asked, figure))]
    parted.sort(key=distance)
    near: dict[str, NearFigure] = {}
    for figure, (criterion, why) in parted:
        alike = criterion != "workload"
        near.setdefault(figure.group, NearFigure(name=figure.group, why=why, same_workload=alike))
    return _why_not(asked, parted[0][1][0]), tuple(near.values())[:NEAREST]


def part(asked: RunSubject, figure: Published) -> tuple[str, str] | None:
    """Where the two part first: one of the criteria, and the words; None where they do not."""
    checks = (
        _workload(asked, figure),
        _same(figure.provider, asked.cloud, "a disk of {}"),
        _same(figure.disk_type, asked.disk_type, "of type {}"),
        figure.cache and asked.cache and _same(figure.cache, asked.cache, "with host caching {}"),
        _within(figure.provisioned_iops, asked.iops, "with {:,g} IOPS provisioned"),
        _within(figure.size_gib, asked.size_gib, "of {:,g} GiB"),
    )
    return next(((name, said) for name, said in zip(_CRITERIA, checks, strict=True) if said), None)


def _workload(asked: RunSubject, figure: Published) -> str | None:
    if figure.profile != asked.profile:
        return f"theirs corresponds to profile {figure.profile}, ours ran {asked.profile}"
    for name, value in figure.parameters.items():
        used = asked.parameters.get(name)
        if used is not None and used != value:
            return f"theirs is with {name}={value:g}, ours ran with {name}={used}"
    return None


def _same(theirs: str, ours: str | None, form: str) -> str | None:
    if theirs == ours:
        return None
    ours_words = "is unknown" if ours is None else f"is {form.format(ours)}"
    return f"theirs is {form.format(theirs)}, ours {ours_words}"


def _within(theirs: float | None, ours: float | None, form: str) -> str | None:
    if _octaves(theirs, ours) <= math.log2(FACTOR):
        return None
    return f"theirs is {form.format(theirs)}, ours {form.format(ours)}"


def _octaves(theirs: float | None, ours: float | None) -> float:
    """How far two amounts are apart; 0 where one of them is not known."""
    return 0.0 if theirs is None or ours is None else abs(math.log2(theirs / ours))


def _why_not(asked: RunSubject, criterion: str) -> str:
    """Why no figure matches, of which the nearest part at this criterion."""
    if criterion in ("cloud", "disk type") and asked.disk_type is None:
        return "the disk type is unknown: it was not rented for the run"
    none, disk = "no published figure has this workload on", asked.disk_type
    return {
        "workload": f"no figure was measured as profile {asked.profile} does, with its parameters",
        "cloud": f"{none} a disk of {asked.cloud}",
        "disk type": f"{none} {disk} of {asked.cloud}",
        "caching": f"{disk} was published with other host caching only",
        "IOPS": f"{disk} was published with other provisioned IOPS only",
        "size": f"{disk} was published in other sizes only",
    }[criterion]


_ALIKE = 0.05
_FEWEST_LEVELS = 2
_FEWEST_ALIKE = 3
_FEWEST_KINDS = 2
_CACHED = frozenset(CACHES) - {"none"}


def published_verdict(
    figure: Published, books: Books, of_post: Sequence[Published] = ()
) -> Verdict:
    """Return what was promised for a published figure, what limited it, and whether to trust it.
    For a latency only the last is decided. `of_post` are all figures of its post; by default it is
    one that is shipped."""
    of_post = of_post or load_published()
    load = LOADS.get(figure.step)
    iops, moved = both_rates({figure.metric: figure.value}, load)
    measured = Measured(
        step_index=0,
        step=figure.step,
        iops=iops,
        bytes_per_s=moved,
        seconds=figure.runtime_s or 0.0,
        cov=stdev(runs) / fmean(runs) if len(runs := figure.samples) >= FEWEST_FLAT else None,
    )
    setting = Setting(
        load=load,
        seconds=figure.runtime_s,
        processor=MachineUse(busiest_core=figure.busiest_core),
        host_cache=figure.cache in _CACHED,
        network="iscsi" if figure.disk_type.startswith("iscsi") else None,
        link=figure.disk_type.partition("-")[0],
        memory_share=_memory_share(figure),
    )
    promise = _promise(figure, load, books, iops)
    judgement = _with_neighbours(verdict(measured, setting, promise), figure, of_post)
    other = _other_disk(figure, promise, of_post)
    if other is not None and judgement.stands_for.limiter.is_unexplained:
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
    if doubt.code != "served-from-cache" or not judgement.stands_for.limiter.is_unexplained:
        return judgement
    below: LimiterName = "host-cache" if figure.cache in _CACHED else "page-cache"
    return _limited(judgement, Limiter(name=below, evidence=(doubt.words,)), judgement.reasons)


def verdict_on_step(
    figures: Sequence[Published], books: Books, of_post: Sequence[Published]
) -> Verdict:
    """Return the verdict on a step of which these figures were published: on its rate, of reads and
    writes together where the post has both, else on its first latency."""
    rates = [figure for figure in figures if figure.metric in RATES]
    first, *others = rates or figures
    of_both = {first.direction: first.value}
    of_both |= {one.direction: one.value for one in others if rates and one.metric == first.metric}
    whole = of_both.get("total") or sum(of_both.values())
    return published_verdict(first.model_copy(update={"value": whole}), books, of_post)


def _beside(figure: Published, of_post: Sequence[Published], *names: str) -> list[Published]:
    """Return the figures of its table and machine that have these fields in common with it."""
    alike = attrgetter("seed", "table", "machine", *names)
    return [other for other in of_post if alike(other) == alike(figure)]


def _limited(judgement: Verdict, by: Limiter, reasons: Sequence[Reason]) -> Verdict:
    """The verdict with another limit, and with these reasons to doubt it."""
    stretch = judgement.stands_for.model_copy(update={"limiter": by})
    doubted = {"stretches": (stretch,), "reasons": tuple(reasons), "trust": trust(reasons)}
    judged = judgement.model_copy(update=doubted)
    return judged.model_copy(update={"sentence": sentence(judged)})


def _other_disk(
    figure: Published, promise: StepPromise | None, of_post: Sequence[Published]
) -> Published | None:
    """Return the figure as one of another disk type of its cloud, where that explains all figures
    of the disk, at least two, and the type that the post names explains none of them."""
    levels = []
    for other in _beside(figure, of_post, "disk"):
        if (load := LOADS.get(other.step)) is not None:  # blocks per second that reach the disk
            setting = Setting(load=load, memory_share=_memory_share(other))
            iops, _ = both_rates({other.metric: other.value}, load)
            written = device_rate(Stretch(iops, None), setting) or 0.0
            levels.append(Level(other.id, load, written))
    if promise is None or len(levels) < _FEWEST_LEVELS or figure.cache in _CACHED:
        return None
    fits = identify(levels, cloud=figure.provider, day=figure.post.date)
    matched = [named_disk(fit.disk) for fit in fits if not fit.misses]
    if not matched or any(disk.disk_type == figure.disk_type for disk in matched):
        return None
    own = next((disk for disk in matched if disk.size_gib >= (figure.size_gib or 0)), matched[0])
    return figure.model_copy(update={"disk_type": own.disk_type, "size_gib": own.size_gib})


def _with_neighbours(
    judgement: Verdict, figure: Published, of_post: Sequence[Published]
) -> Verdict:
    """Name the machine's own limit where disks of different types do the same on it (joint look):
    three disks of two types or more within 5 % of their median, and no cap of the disk explains
    it."""
    if not judgement.stands_for.limiter.is_unexplained:
        return judgement
    of_step = [one for one in _beside(figure, of_post, "step", "metric") if one.doubt is None]
    beside = {other.disk: (other.disk_type, other.value) for other in of_step}
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
    if figure.profile in {"gobonniego", "bonnie"}:
        return 0.5
    written = figure.parameters.get("bs", 0.0) * figure.parameters.get("count", 0.0)
    return figure.memory_gib * GIB / written if figure.memory_gib and written else None


def _promise(
    figure: Published, load: Load | None, books: Books, iops: float | None
) -> StepPromise | None:
    """Return what was promised on the day of the post; of several that may have held the one that
    the figure fits."""
    if load is None:
        return None
    try:
        paths = hint_of(figure.labels).limit_paths(books)
    except DiskbenchError:
        return None
    promises = [
        StepPromise(expected, credit=way.shares(way.full()), is_guess=True)
        for way in paths
        if (expected := expect_on(way, load)) is not None
    ]
    fitting = [promise for promise in promises if iops is not None and promise.is_near(iops)]
    return next(iter(fitting or promises), None)
