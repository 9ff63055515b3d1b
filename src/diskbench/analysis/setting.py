"""The inputs for finding the limit of a stretch of a step: its rates and the step's setting."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from diskbench.model.expectation import ExpectedLevel, LimitName, Load
from diskbench.model.metrics import Exceeded
from diskbench.model.phase import PhaseKind
from diskbench.model.processor import MachineUse
from diskbench.units import SHOWN_AS_BYTES, format_iops, format_mb_per_s

DIRTY_SHARE = 0.2
"""Of the memory: what writers may leave unwritten before they are made to wait (vm.dirty_ratio, 20
by default; Documentation/admin-guide/sysctl/vm.rst). It is a share of the memory that is free or
can be freed, so this is the most."""
_LEAST_LEFT = 0.75
"""Of the bytes: the kernel holds writers back from 15 % on of the memory that can be freed
(freerun in mm/page-writeback.c), so that below this the disk's rate is not known to a tenth, and it
is the page cache's rate as much as the disk's (benchmarks/rates.py)."""
FLAT = 0.01
"""A coefficient of variation below it is a fixed limit; our choice."""
ONE_VARIES = 0.05
"""Of its time: the least by which single I/Os of a disk vary; our choice."""
BIN_S = 10
"""Seconds that a coefficient of variation is made of the means of."""
FEWEST_FLAT = 5
"""The fewest runs that a level is called flat by."""
ABOVE = 1.1
"""A rate above this multiple of the most favourable promise is above every promise."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A measured stretch: blocks and bytes per second at one level. `fell_from` is the level before
    the cliff at its start, in the same unit, and `credits` the I/Os done above this level until
    then. `level` is the promise for it: the lasting rate once credit is `used_up`, else the rate
    with the credit at the step's start. `is_guess`: only the rate suggests that credit is used up.
    `is_mixed`: its seconds are unknown, and its rate is a mean of burst and baseline. `lasts`: the
    rate did not recover after the fall at its start. `is_joint`: it fell
    by half elsewhere, or with other steps of its trial. `cov` is how much means of ten seconds (or,
    over runs, the figures of runs) vary, as a fraction of their median; None if there are too few.
    `stalled` is the share of its seconds with almost no I/O, which its rates include."""

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
    lasts: bool = True
    is_joint: bool = False
    cov: float | None = None
    stalled: float = 0.0


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another step of the same run with the same load except for its depth."""

    step: str
    depth: int
    iops: float


@dataclass(frozen=True, slots=True)
class Setting:
    """What a step ran in, for all its stretches together.

    `device_share` is the bytes that the device moved of those of fio, in the direction where it is
    least, or (`device_at_most`) an upper bound of it; where it is not known, the device did fewer
    `device_requests` a second than blocks; `memory_share` is the memory over the bytes
    written, None where it is not known, and `is_synced`: what was written reached the disk before
    the clock stopped. `keeps_cache`: measuring the page cache is what the step is for.
    `host_cache`: its machine caches the disk.
    `network` is the filesystem or transport where that is one. Of a disk in the machine itself,
    `link` is what it is behind (`sata`, `sas`), `turns` whether it is rotational. `credit` is what
    was left of each bucket when the step began, as a fraction;
    `knows_buckets`: the promise lists every bucket of the disk (a promise that the owner typed does
    not); `is_like_bucket`: it fell as a disk of the catalogue does. `exceeded` is what the cloud's
    own counters say.
    """

    load: Load | None = None
    seconds: float | None = None
    processor: MachineUse = field(default_factory=MachineUse)
    device_share: float | None = None
    device_at_most: bool = False
    device_requests: float | None = None
    memory_share: float | None = None
    is_synced: bool = False
    keeps_cache: bool = False
    host_cache: bool = False
    network: str | None = None
    link: str = ""
    turns: bool = False
    credit: Mapping[LimitName, float] = field(default_factory=dict)
    knows_buckets: bool = True
    is_like_bucket: bool = False
    exceeded: Exceeded | None = None
    siblings: tuple[Sibling, ...] = ()


def rate(stretch: Stretch, setting: Setting) -> float | None:
    """Return blocks per second; computed from bytes if the log has no I/Os."""
    if stretch.iops is not None:
        return stretch.iops
    if stretch.bytes_per_s is None or setting.load is None:
        return None
    return stretch.bytes_per_s / setting.load.block_bytes


def shown_rate(blocks_per_s: float, setting: Setting) -> str:
    """Return `3,000 IOPS`, or `98.0 MB/s` of large blocks: the unit of the table of verdicts."""
    block = setting.load.block_bytes if setting.load else 0
    if block >= SHOWN_AS_BYTES:
        return f"{format_mb_per_s(blocks_per_s * block)} MB/s"
    return f"{format_iops(blocks_per_s)} IOPS"


def device_rate(stretch: Stretch, setting: Setting) -> float | None:
    """Return the blocks per second that reached the disk before the clock stopped.

    Buffered writes that end without a sync leave up to `DIRTY_SHARE` of the memory unwritten, so
    the disk did measured × (1 − 0.2 · memory / bytes written). The rate itself where that does not
    apply, where the memory is not known, or where more than a quarter might be unwritten.
    """
    measured, load, share = rate(stretch, setting), setting.load, setting.memory_share
    if measured is None or load is None or share is None:
        return measured
    if load.direct is not False or load.read_share > 0:
        return measured
    if setting.is_synced or setting.device_share is not None:
        return measured
    uncached = 1 - DIRTY_SHARE * share
    return measured * uncached if uncached > _LEAST_LEFT else measured


def is_flat(stretch: Stretch) -> bool:
    """Whether the rate varies so little that something holds it there."""
    return stretch.cov is not None and stretch.cov < FLAT


def is_regular(stretch: Stretch) -> bool:
    """Whether I/Os, one at a time, come so regularly that no disk makes them: of n I/Os in ten
    seconds, each varying by a twentieth of its time, the mean varies by 0.05 / √n."""
    if stretch.cov is None or not stretch.iops:
        return False
    return stretch.cov < ONE_VARIES / math.sqrt(stretch.iops * BIN_S)


def is_above(stretch: Stretch, setting: Setting) -> bool:
    """Whether the rate is above every promise, less what was not written yet."""
    measured = device_rate(stretch, setting)
    return (
        measured is not None
        and stretch.level is not None
        and stretch.level.limited_by is not None
        and measured > ABOVE * stretch.level.high_iops
    )
