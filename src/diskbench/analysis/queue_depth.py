"""Whether a deeper queue would have given more (MR-12; docs/METHOD.md, "Queue depth").

In a closed loop depth = rate × latency holds for every disk, idle or not (Little's law), so the
product alone proves nothing: the question is whether I/Os waited for each other. At depth 1 no I/O
can wait for another. All factors are our choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diskbench.model.expectation import LIMIT_WORDS, ExpectedLevel, Load
from diskbench.model.verdict import Limiter
from diskbench.units import NS_PER_S, format_iops, format_latency_ns

MORE = 1.1
AS_MUCH = 0.9
NO_LONGER = 1.25
SLOWER = 1.5
FAR = 0.5
_NEAR = 0.10
_NOT_CAPS = frozenset({"latency", "offered"})


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another step of the same run with the same load except for its depth."""

    step: str
    depth: int
    iops: float


def queue_depth(
    iops: float, load: Load, level: ExpectedLevel | None, siblings: Sequence[Sibling] = ()
) -> Limiter | None:
    """Return `queue-depth` with its evidence; None if the depth is large enough or unknown.

    `iops` is what was measured, `level` what is promised for it.
    """
    depth = load.depth
    if depth is None or iops <= 0 or load.max_per_s is not None:
        return None
    per_io = _each(depth, iops)
    deeper = max((s for s in siblings if s.depth > depth), key=lambda s: s.iops, default=None)
    if deeper is not None and deeper.iops >= MORE * iops:
        return _named(
            per_io, f"at depth {deeper.depth}, {deeper.step} did {format_iops(deeper.iops)} IOPS"
        )
    shallower = [sibling for sibling in siblings if sibling.depth < depth]
    if any(sibling.iops >= AS_MUCH * iops for sibling in shallower):
        return None
    if depth == 1:
        return _named(per_io)
    for sibling in shallower:
        if depth / iops <= NO_LONGER * sibling.depth / sibling.iops:
            took = format_latency_ns(sibling.depth / sibling.iops * NS_PER_S)
            return _named(
                per_io,
                f"at depth {sibling.depth} it takes {took} ({sibling.step}): "
                "a deeper queue gives more",
            )
    caps = [bound for bound in level.bounds if bound.limit not in _NOT_CAPS] if level else []
    if level is None or not caps or iops >= (1 - _NEAR) * caps[0].iops:
        return None
    # The longest time that is promised of an I/O shows nothing: a throttled one takes longer, too.
    usual = next((bound for bound in level.bounds if bound.limit == "latency"), None)
    if usual is None:
        return None
    is_far = iops < FAR * caps[0].iops
    if iops >= (1 - _NEAR) * usual.iops or (is_far and iops * SLOWER >= usual.iops):
        cap = f"{LIMIT_WORDS[caps[0].limit]} limit is {format_iops(caps[0].iops)} IOPS"
        return _named(per_io, f"an idle disk usually takes as long; its {cap}")
    return None


def _each(depth: int, iops: float) -> str:
    took = format_latency_ns(depth / iops * NS_PER_S)
    if depth == 1:
        return f"one I/O at a time, by design: each takes {took}"
    return f"with {depth} I/Os in flight, each takes {took}"


def _named(*evidence: str) -> Limiter:
    return Limiter(name="queue-depth", evidence=evidence)
