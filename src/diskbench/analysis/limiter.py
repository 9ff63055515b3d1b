"""Which limit set the pace of one stretch of a step (MR-12): the first that applies is named
(docs/METHOD.md, "Which limit"). Neither processor nor queue explains a fall, so credit comes first;
if the disk reaches its cap, a busy core is not the limit, so caps do, too. The work of other
processes (model/processor.py) explains less than a shallow queue. Rates are compared in the load's
own blocks, as the promise counts them."""

from collections.abc import Sequence
from dataclasses import replace

from diskbench.analysis.caches import beyond_medium, cached_below, page_cache
from diskbench.analysis.caps import NEAR, cap, credit, fell, is_writing
from diskbench.analysis.setting import (
    Setting,
    Sibling,
    Stretch,
    is_flat,
    is_regular,
    rate,
    shown_rate,
)
from diskbench.analysis.stalls import RARE
from diskbench.model.expectation import LIMIT_WORDS, NOT_CAPS, ExpectedLevel, Load
from diskbench.model.phase import MOST_STALLED
from diskbench.model.processor import Worker, busy_with, percent
from diskbench.model.verdict import Limiter, LimiterName
from diskbench.units import (
    NS_PER_S,
    SHOWN_AS_BYTES,
    format_iops,
    format_latency_ns,
    format_mb_per_s,
)

HELD = 0.99
"""The fraction of the offered rate that counts as reached (MR-11); lower if so few I/Os arrive that
their Poisson variation is larger (fio/offered.py)."""
_LINES = {1: 0.117e9, 10: 1.17e9, 25: 2.93e9}
"""Gbit/s → the bytes a second that TCP carries at an MTU of 1500: 94.9 % with IPv4 and time stamps
(1448 of 1538 bytes on the wire; IEEE 802.3, RFC 9293 and 7323), less 1 % for iSCSI or NFS."""
BLOCK_TRANSPORTS = frozenset({"iscsi", "fc", "fcoe", "nbd"})
"""Networks that a disk may be behind, by their names in lsblk's TRAN."""

_MORE, _AS_MUCH, _NO_LONGER, _SLOWER, _FAR = 1.1, 0.9, 1.25, 1.5, 0.5
"""By which a queue is judged; all our choice."""
_BELOW_ALL: frozenset[LimiterName] = frozenset({"unknown", "fixed-limit", "queue-depth"})

_BY_OTHERS: dict[Worker, LimiterName] = {
    "interrupts": "interrupts", "process": "other-process", "steal": "steal",
}  # fmt: skip


def limiter(stretch: Stretch, setting: Setting) -> Limiter:
    """Return the limit that set the rate of a stretch, with the figures that show it.

    A mean that includes stalls lies below what limits the disk between them: where no limit is at
    the mean, the rate of the seconds with I/O is compared. Pauses that are not rare belong to how a
    disk serves its I/O.
    """
    named = _limiter(stretch, setting)
    if named.name not in _BELOW_ALL or not MOST_STALLED < stretch.stalled <= RARE:
        return named
    share = 1 - stretch.stalled
    between = replace(
        stretch,
        iops=stretch.iops / share if stretch.iops is not None else None,
        bytes_per_s=stretch.bytes_per_s / share if stretch.bytes_per_s is not None else None,
        stalled=0.0,
    )
    named = _limiter(between, setting)
    words = f"not counting the {stretch.stalled:.0%} of the time without I/O"
    return named.model_copy(update={"evidence": (*named.evidence, words)})


def _limiter(stretch: Stretch, setting: Setting) -> Limiter:
    rules = (
        beyond_medium, page_cache, _offered, credit, cap, cached_below, _client, _queue_depth,
        _network, _fixed, _others, _unknown,
    )  # fmt: skip
    return next(named for rule in rules if (named := rule(stretch, setting)) is not None)


def _offered(stretch: Stretch, setting: Setting) -> Limiter | None:
    held = setting.load.max_per_s if setting.load else None
    measured = rate(stretch, setting)
    if held is None or measured is None:
        return None
    arrivals = held * (setting.seconds or 0.0)
    chance = 1 - 2 / arrivals**0.5 if arrivals > 0 else HELD
    if measured < min(HELD, chance) * held:
        return None
    got = f"the load asked for {format_iops(held)} IOPS and got {format_iops(measured)}"
    return Limiter(name="offered", evidence=(got,))


def _client(stretch: Stretch, setting: Setting) -> Limiter | None:
    del stretch  # the processor was watched over the whole step
    words = busy_with(setting.processor).get("generator")
    return Limiter(name="client", evidence=words) if words else None


def _others(stretch: Stretch, setting: Setting) -> Limiter | None:
    del stretch
    for worker, words in busy_with(setting.processor).items():
        if worker != "generator":
            return Limiter(name=_BY_OTHERS[worker], evidence=words)
    return None


def _queue_depth(stretch: Stretch, setting: Setting) -> Limiter | None:
    measured = rate(stretch, setting)
    if measured is None or setting.load is None:
        return None
    # What holds a rate within 1 % is a limit and no latency; one at a time is flatter than that.
    is_single = setting.load.depth == 1
    if is_single and is_regular(stretch) and not setting.siblings:
        return None
    level = None if is_flat(stretch) and not is_single else stretch.level
    return _too_shallow(measured, setting.load, level, setting.siblings)


def _too_shallow(
    iops: float, load: Load, level: ExpectedLevel | None, siblings: Sequence[Sibling]
) -> Limiter | None:
    """Return `queue-depth` with its evidence if a deeper queue would have given more than these
    `iops` (docs/METHOD.md, "Queue depth"). In a closed loop depth = rate × latency holds for every
    disk, idle or not (Little's law), so the product alone proves nothing: the question is whether
    I/Os waited for each other. At depth 1 none can."""
    depth = load.depth
    if depth is None or iops <= 0 or load.max_per_s is not None:
        return None
    took = f"each takes {format_latency_ns(depth / iops * NS_PER_S)}"
    per_io = f"with {depth} I/Os in flight, {took}"
    if depth == 1:
        per_io = f"one I/O at a time, by design: {took}"
    deeper = max((s for s in siblings if s.depth > depth), key=lambda s: s.iops, default=None)
    if deeper is not None and deeper.iops >= _MORE * iops:
        did = f"{deeper.step} did {format_iops(deeper.iops)} IOPS"
        return _limited_by_depth(per_io, f"at depth {deeper.depth}, {did}")
    shallower = [sibling for sibling in siblings if sibling.depth < depth]
    if any(sibling.iops >= _AS_MUCH * iops for sibling in shallower):
        return None
    if depth == 1:
        return _limited_by_depth(per_io)
    for sibling in shallower:
        if depth / iops <= _NO_LONGER * sibling.depth / sibling.iops:
            took = format_latency_ns(sibling.depth / sibling.iops * NS_PER_S)
            shallow = f"at depth {sibling.depth} it takes {took} ({sibling.step})"
            return _limited_by_depth(per_io, f"{shallow}: a deeper queue gives more")
    caps = [bound for bound in level.bounds if bound.limit not in NOT_CAPS] if level else []
    if level is None or not caps or iops >= (1 - NEAR) * caps[0].iops:
        return None
    # The longest time that is promised of an I/O shows nothing: a throttled one takes longer, too.
    usual = next((bound for bound in level.bounds if bound.limit == "latency"), None)
    if usual is None:
        return None
    is_far = iops < _FAR * caps[0].iops
    if iops >= (1 - NEAR) * usual.iops or (is_far and iops * _SLOWER >= usual.iops):
        cap = f"{LIMIT_WORDS[caps[0].limit]} limit is {format_iops(caps[0].iops)} IOPS"
        return _limited_by_depth(per_io, f"an idle disk usually takes as long; its {cap}")
    return None


def _limited_by_depth(*evidence: str) -> Limiter:
    return Limiter(name="queue-depth", evidence=evidence)


def _fixed(stretch: Stretch, setting: Setting) -> Limiter | None:
    if stretch.cov is None or not is_flat(stretch) or stretch.kind in ("ramp", "stall"):
        return None
    block = setting.load.block_bytes if setting.load else None
    moved = stretch.bytes_per_s
    if stretch.iops is None or (block is not None and block >= SHOWN_AS_BYTES and moved):
        shown = f"{format_mb_per_s(moved or 0.0)} MB/s"
    else:
        shown = f"{format_iops(stretch.iops)} IOPS"
    evidence = f"{shown} varies by only {stretch.cov:.1%}: a fixed, undocumented limit"
    return Limiter(name="fixed-limit", evidence=(evidence,))


def _network(stretch: Stretch, setting: Setting) -> Limiter | None:
    if setting.network is None:
        return None
    for gbit, carried in _LINES.items():
        if stretch.bytes_per_s and abs(stretch.bytes_per_s / carried - 1) <= NEAR:
            shown = f"{format_mb_per_s(stretch.bytes_per_s)} MB/s"
            evidence = f"{shown} over {setting.network} is the rate of a {gbit} Gbit/s link"
            return Limiter(name="network", evidence=(evidence,))
    if setting.network in BLOCK_TRANSPORTS:
        return None
    evidence = f"the target is on {setting.network}: a server and a network set the rate"
    return Limiter(name="network", evidence=(evidence,))


def _unknown(stretch: Stretch, setting: Setting) -> Limiter:
    evidence = list(fell(stretch, setting))
    measured, level = rate(stretch, setting), stretch.level
    told_of_no_bucket = level is None or not setting.knows_buckets or not setting.credit
    if evidence and told_of_no_bucket and is_writing(setting):
        evidence.append("either burst credit or the disk's write cache was used up")
    elif evidence and told_of_no_bucket:
        evidence.append("a burst bucket, heat or a neighbour may be the cause")
    if stretch.kind in ("ramp", "stall"):
        evidence.append("it never settled at one rate")
    elif level is not None and level.limited_by is not None and measured is not None:
        most = next((bound for bound in level.bounds if bound.limit not in NOT_CAPS), None)
        if most is not None and most.limit != level.limited_by:
            evidence.append(
                f"the lowest known limit is {LIMIT_WORDS[most.limit]}: "
                f"{shown_rate(most.iops, setting)}"
            )
    else:
        evidence.append("the limits of this disk are unknown")
    if stretch.kind == "burst" and level is None:
        evidence.append("the rate did not last")
    used = setting.processor
    if used.busiest_core is not None:
        evidence.append(
            f"the CPU is not the limit: the busiest core was {percent(used.busiest_core)} busy"
        )
    elif used.busiest_job is not None:
        share = percent(used.busiest_job)
        evidence.append(f"the CPU is not the limit: fio's busiest job used {share} of a core")
    else:
        evidence.append("CPU use was not recorded")
    return Limiter(name="unknown", evidence=tuple(evidence))
