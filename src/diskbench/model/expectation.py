"""What a load should get from a disk on a machine, and which limit says so: kept with the plan; and
the performance that a disk's owner expects, for disks in no catalogue.

All rates are of the load's own blocks, as fio reports them, whatever a cloud counts as one I/O.
Formulas are in `catalog/expect.py` and `catalog/path.py`.
"""

import math
from typing import Literal

from pydantic import Field

from diskbench.model.base import Frozen


class Promise(Frozen):
    """Each figure holds for reads and for writes; None where nothing is expected. MB are 10^6.

    `io_kib` is the largest request that counts as one I/O of `iops`; a larger one counts as
    several. None: as the provider's catalogue counts, 256 KiB where none does.
    """

    iops: float | None = Field(default=None, gt=0)
    mb_per_s: float | None = Field(default=None, gt=0)
    io_kib: int | None = Field(default=None, ge=1)

    def words(self) -> str:
        """`5,000 IOPS, 100 MB/s, by --promise`."""
        parts = []
        if self.iops is not None:
            size = f" of up to {self.io_kib:,} KiB" if self.io_kib is not None else ""
            parts.append(f"{self.iops:,.0f} IOPS{size}")
        if self.mb_per_s is not None:
            parts.append(f"{self.mb_per_s:,g} MB/s")
        return f"{', '.join(parts)}, by --promise"


LimitName = Literal[
    "disk-iops", "disk-throughput", "vm-iops", "vm-throughput", "vm-cached-iops",
    "vm-cached-throughput", "latency", "offered",
]  # fmt: skip
"""`latency` is queue depth over latency; `offered` is the rate to which the job limits its own
load."""

NOT_CAPS: frozenset[LimitName] = frozenset({"latency", "offered"})
LIMIT_WORDS: dict[LimitName, str] = {
    "disk-iops": "disk IOPS",
    "disk-throughput": "disk throughput",
    "vm-iops": "VM IOPS",
    "vm-throughput": "VM throughput",
    "vm-cached-iops": "VM cached IOPS",
    "vm-cached-throughput": "VM cached throughput",
    "latency": "latency × queue depth",
    "offered": "its own rate",
}


class Load(Frozen):
    """What jobs ask of a disk: blocks of one size, so many at a time.

    `read_share` is 1 for reads only. `direct` is None where it is not known.
    `depth` is how many blocks are under way at once, over all jobs; None where nothing bounds it
    (writes that the page cache takes), or it is not known. `max_per_s` is the rate that the load is
    held to, in blocks; `read_ahead_bytes` what the guest reads at once in sequence through its page
    cache; `warm` whether what it reads may be in a host cache by then.
    """

    block_bytes: int = Field(ge=1)
    read_share: float = Field(default=1.0, ge=0, le=1)
    random: bool = True
    direct: bool | None = True
    depth: int | None = Field(default=None, ge=1)
    max_per_s: float | None = Field(default=None, gt=0)
    read_ahead_bytes: int = Field(default=128 * 1024, ge=0)
    warm: bool = True


class Issued(Frozen):
    """The requests that blocks become on their way to the disk: `per_block` of them, each of
    `request_bytes`. A block in a larger request is a fraction of one."""

    request_bytes: int
    per_block: float


class Bound(Frozen):
    """What one limit lets through, in blocks a second. `counts` is how many I/Os (or, of the
    smallest that is charged, how many times its bytes) one block is charged as: request-size
    accounting, where it is above 1. `is_range`: an average or a range is documented, and no cap."""

    limit: LimitName
    iops: float
    counts: float = 1.0
    source: str = ""
    is_range: bool = False

    @property
    def is_cap(self) -> bool:
        """Whether a cloud or a machine never gives more; a range and a latency are no caps."""
        return self.limit not in NOT_CAPS and not self.is_range


class ExpectedLevel(Frozen):
    """What is expected while one state of the burst buckets lasts.

    `iops` is the figure with the request sizes, latency and cache hits that are assumed; `low_iops`
    and `high_iops` are those with the least and the most favourable that are plausible. Above
    `high_iops` is above every promise. `limited_by` sets `iops`; `bounds` are all that were asked,
    tightest first. None: no limit is known. `others` are caps that the least and the most
    favourable case have instead: other request sizes, or a host cache that does not help.
    """

    iops: float
    low_iops: float
    high_iops: float
    bytes_per_s: float
    limited_by: LimitName | None
    bounds: tuple[Bound, ...] = ()
    others: tuple[Bound, ...] = ()

    @property
    def accounted(self) -> bool:
        """Whether the size of the requests made the limit: blocks are charged as more than one."""
        return bool(self.bounds) and self.bounds[0].counts > 1

    def words(self) -> str:
        """`disk IOPS (a block counts as 4)`, or that nothing is known."""
        if self.limited_by is None:
            return "unknown"
        counts = f" (a block counts as {self.bounds[0].counts:g})" if self.accounted else ""
        return f"{LIMIT_WORDS[self.limited_by]}{counts}"


class Expectation(Frozen):
    """What one load should get: `begin` from the credit that there is at first, `lasting` once all
    of it is used up. `lasts_s` is how long `begin` lasts under full load; None: without an end.
    `reads` and `writes` are the requests that blocks become; None for a direction not asked for."""

    load: Load
    reads: Issued | None
    writes: Issued | None
    begin: ExpectedLevel
    lasting: ExpectedLevel
    lasts_s: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def bursts(self) -> bool:
        """Whether what it begins with is no lasting rate."""
        return self.begin.iops > self.lasting.iops

    @property
    def lasting_up_to(self) -> float:
        """The rate up to which a level is the lasting one and no burst: the geometric mean of both
        levels, so that a rate belongs to the nearer one; without a burst 10 % above the lasting
        rate."""
        if self.bursts:
            return math.sqrt(self.begin.iops * self.lasting.high_iops)
        return 1.1 * self.lasting.high_iops


class StepExpectation(Frozen):
    """One step in its turn. `start_s` and `seconds` are as simulated, from the first step on;
    `mean_iops` is the mean of the whole step, `credit` what is left of each bucket when it begins
    (1 is full), by the bucket's name. `load` is an index into the plan's expectations; None where
    its jobs are too different from each other to be one load, or nothing is known."""

    index: int
    name: str
    run: int = 1
    round: int | None = None
    start_s: float
    seconds: float
    mean_iops: float | None = None
    credit: dict[LimitName, float] = Field(default_factory=dict)
    load: int | None = None


class CreditRange(Frozen):
    """When one bucket is first empty: `gone_s` after the first step begins, in the run and the step
    named; None: it is not. `earliest_s` and `latest_s` come from the least and the most favourable
    request sizes. `full_load_s` is how long a full bucket lasts under full load."""

    bucket: LimitName
    gone_s: float | None
    earliest_s: float | None = None
    latest_s: float | None = None
    full_load_s: float
    run: int | None = None
    step: str | None = None


CreditEnd = Literal["before", "at", "after"]


class BeyondCredit(Frozen):
    """What a plan shows of the rate that lasts. `ends` is where its last load ends: `before` the
    credit is used up, `at` that time or so soon after it that the lasting rate cannot be seen, or
    `after` it. `lasts_s` is how long full buckets last under a load of such blocks, which then
    falls from `begin_iops` to `lasting_iops`; `needed_s` is how long the load must run, and `flags`
    are the options of `run` for that."""

    lasts_s: float
    needed_s: float
    block_bytes: int
    begin_iops: float
    lasting_iops: float
    ends: CreditEnd
    flags: str


class DiskPrice(Frozen):
    """A month of the disk and what it buys, in US dollars; None where it is not known, or nothing
    of the kind is promised. Transactions are those of a month of full load at the baseline, in
    blocks of 4 KiB. `per_…` divide `total_usd`; burst figures are apart, for they do not last."""

    storage_usd: float | None
    transactions_usd: float | None
    total_usd: float | None
    per_1000_iops_usd: float | None = None
    per_1000_burst_iops_usd: float | None = None
    per_100_mb_per_s_usd: float | None = None
    per_100_burst_mb_per_s_usd: float | None = None


class PlanExpectation(Frozen):
    """What a plan should find. `seconds` is how long all runs take as simulated: work that is bound
    by size takes longer at the baseline. `expectations` are those of its steps, alike ones once; a
    run that is expected to be as the one before it has no `steps` of its own (`step` answers for
    it). `unknown` says what the catalogue does not know."""

    expectations: tuple[Expectation, ...] = ()
    steps: tuple[StepExpectation, ...] = ()
    credits: tuple[CreditRange, ...] = ()
    beyond: BeyondCredit | None = None
    """None where nothing that it measures falls, and in plans made before this was computed."""
    seconds: float = 0.0
    price: DiskPrice | None = None
    sources: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def gone_s(self) -> float | None:
        """When the first bucket is empty; None: never."""
        return min(
            (credit.gone_s for credit in self.credits if credit.gone_s is not None), default=None
        )

    def step(self, index: int, run: int = 1, of_round: int | None = None) -> StepExpectation | None:
        """A step by its index in the plan, in a run counted from 1; a round that was not foreseen
        is expected as the last one that was, and a run without steps as the last one with them."""
        stored_run = max((step.run for step in self.steps if step.run <= run), default=run)
        candidates = [step for step in self.steps if step.index == index and step.run == stored_run]
        return next(
            (step for step in candidates if step.round == of_round),
            candidates[-1] if candidates else None,
        )

    def of(self, step: StepExpectation | None) -> Expectation | None:
        """What a step should get, from the credit that is left when it begins."""
        return None if step is None or step.load is None else self.expectations[step.load]
