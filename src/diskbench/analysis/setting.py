"""The inputs for finding the limit of a stretch of a step: its rates and the step's setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diskbench.model.processor import Processor

if TYPE_CHECKING:
    from diskbench.analysis.medium import Medium
    from diskbench.analysis.queue_depth import Sibling
    from diskbench.model.expectation import ExpectedLevel, LimitName, Load
    from diskbench.model.phase import PhaseKind

ABOVE = 1.1
"""A rate above this multiple of the most favourable promise is above every promise."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A measured stretch: blocks and bytes per second at one level. `fell_from` is the level before
    the cliff at its start, in the same unit, and `credits` the I/Os done above this level until
    then. `level` is the promise for it: the lasting rate once credit is `used_up`, else the rate
    with the credit at the step's start. `is_guess`: only the rate suggests that credit is used up.
    `is_mixed`: its seconds are unknown, and its rate is a mean of burst and baseline."""

    iops: float | None
    bytes_per_s: float | None
    kind: PhaseKind | None = None
    start_s: float | None = None
    end_s: float | None = None
    fell_from: float | None = None
    credits: float | None = None
    level: ExpectedLevel | None = None
    used_up: bool = False
    is_guess: bool = False
    is_mixed: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """What a step ran in, for all its stretches together.

    `device_share` is the bytes that the device moved of those of fio, in the direction where it is
    least; `memory_share` is the memory over the bytes written. `keeps_cache`: measuring the page
    cache is what the step is for. `host_cache`: its machine caches the disk. `network` is the
    filesystem or transport where that is one, `medium` a disk in the machine itself. `credit` is
    what was left of each bucket when the step began, as a fraction; `knows_buckets`: what is
    promised tells of all that there are, as the word of a disk's owner does not; `is_like_bucket`:
    it fell as a disk of the catalogue does.
    """

    load: Load | None = None
    seconds: float | None = None
    processor: Processor = field(default_factory=Processor)
    device_share: float | None = None
    memory_share: float = 1.0
    keeps_cache: bool = False
    host_cache: bool = False
    network: str | None = None
    medium: Medium | None = None
    credit: Mapping[LimitName, float] = field(default_factory=dict)
    knows_buckets: bool = True
    is_like_bucket: bool = False
    siblings: tuple[Sibling, ...] = ()


def rate(stretch: Stretch, setting: Setting) -> float | None:
    """Return blocks per second; computed from bytes if the log has no I/Os."""
    if stretch.iops is not None:
        return stretch.iops
    if stretch.bytes_per_s is None or setting.load is None:
        return None
    return stretch.bytes_per_s / setting.load.block_bytes


def is_above(stretch: Stretch, setting: Setting) -> bool:
    """Whether the rate is above every promise."""
    measured = rate(stretch, setting)
    return (
        measured is not None
        and stretch.level is not None
        and stretch.level.limited_by is not None
        and measured > ABOVE * stretch.level.high_iops
    )
