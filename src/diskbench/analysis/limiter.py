"""Which limit set the pace of one stretch of a step (MR-12). The first that applies is named:

    a cache       faster than a disk of its kind can be (analysis/medium.py): of the guest where the
                  I/O was buffered, else one below it
    page cache    buffered, and the device moved < 95 % of fio's bytes; or, where nobody counted,
                  buffered writes above 1.1 times every promise, and not without what memory holds
    offered       ≥ 99 % of the rate that the load is held to
    credit        within 10 % of the rate that a used-up bucket leaves; without a promise, the level
                  that a sharp fall ended in: neither processor nor queue explains a fall
    a cap         within 10 % of min(disk cap, VM cap); above it, of any other cap
    host cache    above 1.1 times every promise, on a disk that its machine caches
    client        one job of fio ≥ 90 % of a core, or busiest core ≥ 90 % and fio ≥ 50 % of one
    queue depth   a deeper queue would give more (analysis/queue_depth.py)
    network       the target lies on a network filesystem, or a link's line rate is reached
    client        busiest core ≥ 90 % by whatever ran there, or steal ≥ 2 %
    unknown       else, with what is known

A cap comes before the processor: a disk that gives its cap cannot be hidden by a busy core. Rates
are compared in the load's own blocks, as the promise counts them (request-size accounting is in
it). The 10 %, 90 % and 2 % are MR-12's, 99 % is MR-11's; the rest is our choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diskbench.analysis.queue_depth import Sibling, queue_depth
from diskbench.model.expectation import LIMIT_WORDS
from diskbench.model.samples import BUSY_CORE, LITTLE_CPU, STEAL
from diskbench.model.verdict import Limiter
from diskbench.units import format_iops, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.analysis.medium import Medium
    from diskbench.model.expectation import Bound, Level, LimitName, Load
    from diskbench.model.phase import PhaseKind

NEAR = 0.10
"""A measured rate within so much of a cap is at it (MR-12)."""
ABOVE = 1.1
"""Above so many times the most favourable promise is above every promise."""
HELD = 0.99
"""Of the rate that a load is held to (MR-11)."""
DEVICE_SHARE = 0.95
EMPTY = 0.02
"""Of a bucket: what is left where a step begins on one that is used up."""
_NOT_CAPS = frozenset({"latency", "offered"})
_LINES = {1: 0.117e9, 10: 1.17e9, 25: 2.93e9}
"""Gbit/s → the bytes a second that TCP carries at an MTU of 1500: 94.9 % with IPv4 and time stamps
(1448 of 1538 bytes on the wire; IEEE 802.3, RFC 9293 and 7323), less 1 % for iSCSI or NFS."""


@dataclass(frozen=True, slots=True)
class Client:
    """What the load generator used of the machine; None where nobody counted.

    `busiest_job` is one process of fio by its own account, and `all_jobs` all of them together, in
    cores.
    """

    busiest_core: float | None = None
    steal: float | None = None
    busiest_job: float | None = None
    all_jobs: float | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was measured: blocks and bytes a second at one level. `fell_from` is the level before
    the cliff that it began with, in the same figure, and `credits` what was done above it by then.
    `level` is what is promised for it: what lasts once its credit is `used_up`, else what the
    credit at the step's beginning gives. `is_guess`: that it is used up shows in the rate alone."""

    iops: float | None
    bytes_per_s: float | None
    kind: PhaseKind | None = None
    start_s: float | None = None
    end_s: float | None = None
    fell_from: float | None = None
    credits: float | None = None
    level: Level | None = None
    used_up: bool = False
    is_guess: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """What a step ran in, for all its stretches together.

    `device_share` is the bytes that the device moved of those of fio, in the direction where it is
    least; `memory_share` is the memory over the bytes written. `keeps_cache`: measuring the page
    cache is what the step is for. `host_cache`: its machine caches the disk. `network` is the
    filesystem or transport where that is one, `medium` a disk in the machine itself. `credit` is
    what was left of each bucket when the step began, as a fraction; `knows_buckets`: what is
    promised tells of all that there are, as the word of a disk's owner does not.
    """

    load: Load | None = None
    client: Client = field(default_factory=Client)
    device_share: float | None = None
    memory_share: float = 1.0
    keeps_cache: bool = False
    host_cache: bool = False
    network: str | None = None
    medium: Medium | None = None
    credit: Mapping[LimitName, float] = field(default_factory=dict)
    knows_buckets: bool = True
    siblings: tuple[Sibling, ...] = ()


def limiter(found: Stretch, setting: Setting) -> Limiter:
    """The limit that set the pace of a stretch, with the figures that show it."""
    rules = (
        _impossible,
        _page_cache,
        _offered,
        _credit,
        _cap,
        _cached_below,
        _busy,
        _queue_depth,
        _network,
        _client,
    )
    named = (rule(found, setting) for rule in rules)
    return next((one for one in named if one is not None), None) or _unknown(found, setting)


def rate(found: Stretch, setting: Setting) -> float | None:
    """Blocks a second; from the bytes where a log has no others."""
    if found.iops is not None:
        return found.iops
    if found.bytes_per_s is None or setting.load is None:
        return None
    return found.bytes_per_s / setting.load.block_bytes


def is_above(found: Stretch, setting: Setting) -> bool:
    """Whether it is above every promise."""
    measured = rate(found, setting)
    return (
        measured is not None
        and found.level is not None
        and found.level.limited_by is not None
        and measured > ABOVE * found.level.high_iops
    )


def is_client_bound(client: Client) -> bool:
    """MR-12: whether the load generator may have set the pace."""
    return (
        (client.busiest_core or 0) >= BUSY_CORE
        or (client.busiest_job or 0) >= BUSY_CORE
        or (client.steal or 0) >= STEAL
    )


def impossible(found: Stretch, setting: Setting) -> str:
    """Why the rate cannot be that of its medium; empty where it can, or that is not known."""
    if setting.medium is None:
        return ""
    load = setting.load
    return setting.medium.impossible(
        found.iops,
        found.bytes_per_s,
        block_bytes=load.block_bytes if load else None,
        random=load is not None and load.random,
    )


def _impossible(found: Stretch, setting: Setting) -> Limiter | None:
    told = impossible(found, setting)
    if not told:
        return None
    direct = setting.load is not None and setting.load.direct
    return Limiter(name="host-cache" if direct else "page-cache", evidence=(told,))


def _page_cache(found: Stretch, setting: Setting) -> Limiter | None:
    load, share = setting.load, setting.device_share
    if load is None or load.direct:
        return None
    if share is not None:
        if share >= DEVICE_SHARE:
            return None
        return Limiter(
            name="page-cache",
            evidence=(f"the device moved {share:.0%} of the bytes that fio did, buffered",),
        )
    if setting.keeps_cache:
        return Limiter(name="page-cache", evidence=("the step is there to measure it",))
    measured = rate(found, setting)
    if load.read_share > 0 or measured is None or found.level is None:
        return None
    # What memory cannot hold has reached the device by the end.
    device = measured * (1 - min(setting.memory_share, 1.0))
    if is_above(found, setting) and device <= ABOVE * found.level.high_iops:
        told = f"{format_iops(found.level.high_iops)} are promised at most"
        return Limiter(
            name="page-cache",
            evidence=(f"buffered writes: {_figure(found, setting)}, where {told}",),
        )
    return None


def _offered(found: Stretch, setting: Setting) -> Limiter | None:
    held = setting.load.max_per_s if setting.load else None
    measured = rate(found, setting)
    if held is None or measured is None or measured < HELD * held:
        return None
    return Limiter(
        name="offered",
        evidence=(f"{format_iops(measured)} of the {format_iops(held)} IOPS that it asked for",),
    )


def _credit(found: Stretch, setting: Setting) -> Limiter | None:
    fell, measured, level = _fell(found), rate(found, setting), found.level
    if level is None or level.limited_by is None or not setting.knows_buckets:
        told = ("no promise is known",) if level is None else ()
        return Limiter(name="credit", evidence=(*fell, *told)) if fell else None
    guessed = found.is_guess and not fell
    if not setting.credit or not found.used_up or guessed or measured is None:
        return None  # nothing that is promised holds credit, or there was some left
    began = setting.credit.get(level.limited_by, 1.0)
    if not fell and began <= EMPTY:
        fell = (f"{began:.0%} of its credit was left when the step began",)
    near = _near(measured, level)
    if near is not None:
        return Limiter(name="credit", evidence=(_at(measured, near), *fell))
    if not fell:
        return None
    return Limiter(name="credit", evidence=(*fell, f"{format_iops(level.iops)} are to last"))


def _fell(found: Stretch) -> tuple[str, ...]:
    if found.fell_from is None:
        return ()
    now = found.iops if found.iops is not None else found.bytes_per_s
    unit = "IOPS" if found.iops is not None else "MB/s"
    show = format_iops if found.iops is not None else format_mb_per_s
    done = ""
    if found.credits and found.iops is not None:
        done = f", after {found.credits:,.0f} I/Os above that level"
    return (f"it fell at once from {show(found.fell_from)} to {show(now or 0.0)} {unit}{done}",)


def _cap(found: Stretch, setting: Setting) -> Limiter | None:
    level, measured = found.level, rate(found, setting)
    if level is None or measured is None:
        return None
    near = _near(measured, level)
    if near is not None:
        return Limiter(name=near.limit, evidence=(_at(measured, near),))
    load = setting.load
    in_range = (1 - NEAR) * level.low_iops <= measured <= ABOVE * level.high_iops
    merged = load is not None and not load.direct and not load.random
    if merged and in_range and level.limited_by and level.limited_by not in _NOT_CAPS:
        told = (
            f"{format_iops(measured)} blocks/s, within the {format_iops(level.low_iops)} to "
            f"{format_iops(level.high_iops)} that {LIMIT_WORDS[level.limited_by]} allow, by the "
            "size of the requests that the page cache makes"
        )
        return Limiter(name=level.limited_by, evidence=(told,))
    return None


def _near(measured: float | None, level: Level) -> Bound | None:
    """The tightest cap, if the rate is within 10 % of it; where it is above, another limit's."""
    caps = [one for one in level.bounds if one.limit not in _NOT_CAPS]
    if measured is None or not caps:
        return None
    if measured < (1 - NEAR) * caps[0].iops:
        return None
    others = (one for one in caps if one is caps[0] or one.limit != caps[0].limit)
    return next((one for one in others if abs(measured / one.iops - 1) <= NEAR), None)


def _at(measured: float, cap: Bound) -> str:
    counted = f", a block counted as {cap.counts:g}" if cap.counts > 1 else ""
    return (
        f"{format_iops(measured)} IOPS, {_off(measured, cap.iops)} the {format_iops(cap.iops)} "
        f"that {LIMIT_WORDS[cap.limit]} allow{counted}"
    )


def _off(measured: float, promised: float) -> str:
    """`1 % below`, or `at`."""
    off = measured / promised - 1
    if abs(off) < 0.005:
        return "at"
    return f"{abs(off):.0%} {'above' if off > 0 else 'below'}"


def _cached_below(found: Stretch, setting: Setting) -> Limiter | None:
    if not setting.host_cache or not is_above(found, setting) or found.level is None:
        return None
    return Limiter(
        name="host-cache",
        evidence=(
            (
                f"{_figure(found, setting)}, above the {format_iops(found.level.high_iops)} that "
                "are promised at most, on a disk with host caching"
            ),
        ),
    )


def _busy(found: Stretch, setting: Setting) -> Limiter | None:
    """fio itself filled a core; what others did there explains less than a shallow queue does."""
    client = setting.client
    by_core = (client.busiest_core or 0) >= BUSY_CORE and not is_other_work(client)
    if not by_core and (client.busiest_job or 0) < BUSY_CORE:
        return None
    return _client(found, setting)


def _client(found: Stretch, setting: Setting) -> Limiter | None:
    del found  # the processor was watched over the whole step
    if not is_client_bound(setting.client):
        return None
    return Limiter(name="client", evidence=client_words(setting.client))


def is_other_work(client: Client) -> bool:
    """Whether a busy core was busy with something else than fio, and fio itself was not."""
    return (
        (client.busiest_core or 0) >= BUSY_CORE
        and (client.busiest_job or 0) < BUSY_CORE
        and client.all_jobs is not None
        and client.all_jobs < LITTLE_CPU
    )


def client_words(client: Client) -> tuple[str, ...]:
    """What was at its limit, each with its figure."""
    told = []
    if client.busiest_core is not None and client.busiest_core >= BUSY_CORE:
        told.append(f"the busiest core was {client.busiest_core:.0%} busy")
        if is_other_work(client):
            told.append(f"but fio used {client.all_jobs:.0%} of a core: something else was busy")
    if client.busiest_job is not None and client.busiest_job >= BUSY_CORE:
        told.append(f"one job of fio used {client.busiest_job:.0%} of a core")
    if client.steal is not None and client.steal >= STEAL:
        told.append(f"the hypervisor took {client.steal:.1%} of the processor time")
    return tuple(told)


def _queue_depth(found: Stretch, setting: Setting) -> Limiter | None:
    measured = rate(found, setting)
    if measured is None or setting.load is None:
        return None
    return queue_depth(measured, setting.load, found.level, setting.siblings)


def _network(found: Stretch, setting: Setting) -> Limiter | None:
    if setting.network is None:
        return None
    for gbit, carried in _LINES.items():
        if found.bytes_per_s and abs(found.bytes_per_s / carried - 1) <= NEAR:
            told = f"{format_mb_per_s(found.bytes_per_s)} MB/s is what {gbit} Gbit/s carry"
            return Limiter(name="network", evidence=(f"{told}, over {setting.network}",))
    if setting.network == "iscsi":
        return None
    return Limiter(
        name="network", evidence=(f"the target lies on {setting.network}: a server and a network",)
    )


def _unknown(found: Stretch, setting: Setting) -> Limiter:
    told = list(_fell(found))
    measured, level = rate(found, setting), found.level
    if found.kind in ("ramp", "stall"):
        told.append("it has no level")
    elif level is not None and level.limited_by is not None and measured is not None:
        most = next((one for one in level.bounds if one.limit not in _NOT_CAPS), None)
        if most is not None:
            told.append(
                f"{measured / most.iops:.0%} of the {format_iops(most.iops)} IOPS that "
                f"{LIMIT_WORDS[most.limit]} allow"
            )
    else:
        told.append("no promise is known")
    if found.kind == "burst" and level is None:
        told.append("it did not last")
    client = setting.client
    if client.busiest_core is not None:
        told.append(f"the busiest core was {client.busiest_core:.0%} busy")
    elif client.busiest_job is not None:
        told.append(f"fio's busiest job used {client.busiest_job:.0%} of a core")
    else:
        told.append("the processor was not watched")
    return Limiter(name="unknown", evidence=tuple(told))


def _figure(found: Stretch, setting: Setting) -> str:
    return f"{format_iops(rate(found, setting) or 0.0)} IOPS"
