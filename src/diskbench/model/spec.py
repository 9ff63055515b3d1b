"""What to measure: the cell, and the plan it is resolved to."""

from typing import Literal

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.model.expectation import Expectation, PlanExpectation, Promise
from diskbench.model.facts import HostFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, Rental
from diskbench.model.threshold import Threshold

Filesystem = Literal["none", "ext4", "xfs"]
TargetKind = Literal["directory", "device"]
Role = Literal["fill", "measure", "canary", "offered"]
PageCache = Literal["drop", "keep"]

EMULATED_PROVIDERS = frozenset({"lab", "fake"})
"""Whose disks are this machine's, dressed up; their results say nothing about a cloud."""


class NamedDisk(Frozen):
    """A further device that the user allowed to be written to, and the identity typed for it."""

    path: str
    destroy_data: str | None = None


class TargetSpec(Frozen):
    """What the user allowed to be written to; nothing in it was looked up.

    `destroy_data` is the identity typed for a device (serial, WWN, or backing file and inode).
    `others` are further devices, each for a device that the job file names. `size_bytes` is how
    much of the target (of each device) to use; None leaves it to the profile.
    """

    kind: TargetKind
    path: str
    destroy_data: str | None = None
    others: tuple[NamedDisk, ...] = ()
    size_bytes: int | None = None
    filesystem: Filesystem | None = None

    @property
    def disks(self) -> tuple[NamedDisk, ...]:
        """All devices, in order; none for a directory."""
        if self.kind != "device":
            return ()
        return (NamedDisk(path=self.path, destroy_data=self.destroy_data), *self.others)


class Cell(Frozen):
    """One point to measure: provider × machine × disk × profile × replicate.

    A machine that is there has an `address` (or is this one) and a `target`; one that is rented
    has `rent`, and its target follows from what was acquired.
    """

    provider: str
    address: str | None = None
    target: TargetSpec
    rent: RentSpec | None = None
    profile: str
    parameters: tuple[tuple[str, str], ...] = ()
    runs: int = Field(default=1, ge=1)
    replicate: int = Field(default=0, ge=0)
    labels: tuple[tuple[str, str], ...] = ()
    promise: Promise | None = None
    """What the disk's owner expects of it, where no catalogue promises anything."""
    if_busy: str = "wait"
    """While another trial measures the same disk: `wait`, `fail`, or at most so many seconds."""
    fail_if: tuple[Threshold, ...] = ()
    """What the figures have to keep to, or the command fails."""
    allowed: tuple[str, ...] = ()
    """Options of a job file that the owner of this machine allows (fio/options.py: ALLOWABLE)."""
    ask_metadata: bool = False
    """Whether an existing machine may ask its cloud's metadata service for its type."""

    @property
    def is_judged(self) -> bool:
        """Whether the user asks something of its figures, beside what its profile asks."""
        return bool(self.fail_if)

    @property
    def has_host_cache(self) -> bool:
        """Whether the rented disk is to have a host cache."""
        cache = self.rent.text("cache") if self.rent is not None else None
        return cache is not None and cache.lower() != "none"

    @property
    def is_from_snapshot(self) -> bool:
        """Whether its disks are made from a snapshot, so that they hold data from the start."""
        rent = self.rent
        return rent is not None and (rent.snapshot is not None or rent.snapshot_of_fill)


class Filled(Frozen):
    """How often a range was written in full before it is read, and how often it has to be (MR-1).

    `shrinks` is the fio option by which a disk could shrink all that was written there.
    """

    passes: float
    wanted: int
    shrinks: str | None = None


class Step(Frozen):
    """One stonewall group of the profile: one fio process.

    `job` is the exact job file that fio is given. `round` counts the passes of a loop from 1.
    `filled` is how often what it reads was written before; None where it reads nothing, and in
    plans made before this was recorded.
    """

    index: int
    name: str
    role: Role = "measure"
    round: int | None = None
    job: str
    expected_s: float
    page_cache: PageCache = "drop"
    drop_caches_every_s: float | None = None
    filled: Filled | None = None


class Loop(Frozen):
    """Steps that are repeated until the tracked job is steady (MR-2), at most `max_rounds` times.

    `first` is the index in the plan's steps where the round begins; a round ends with the last.
    """

    first: int
    until: Literal["steady"] = "steady"
    tracked: str
    direction: Literal["read", "write"]
    min_rounds: int = 5
    max_rounds: int = 25


class Search(Frozen):
    """A search for the highest rate at which a latency keeps to `target` (analysis/sla.py). `steps`
    are its probes in order, of which those are run that it needs; each offers a share of what the
    step `capacity` reached, until `beyond` I/Os lie beyond the percentile. No probe offers more
    than `lasting_iops`, the documented rate without burst credit; None where none is known."""

    capacity: str
    steps: tuple[str, ...]
    target: Threshold
    precision: float
    beyond: int
    lasting_iops: float | None = None


class ProfileFacts(Frozen):
    """The profile as it was used: enough to render the same job file again."""

    name: str
    title: str
    question: str
    source: str
    template: str
    digest: str
    parameters: dict[str, str | int | float | bool]
    thresholds: tuple[Threshold, ...] = ()


class TargetDisk(Frozen):
    """A disk that is written to, as it was found on its host: `device` is the kernel's path."""

    device: str
    identity: str | None
    number: str | None
    size_bytes: int | None


class ResolvedTarget(Frozen):
    """The one place of this trial that is written to: a directory, a disk, or with `others` several
    raw disks.

    `work_dir` is the directory that holds the test files (None for a raw device); `state_dir`
    holds scripts, logs and output on the host. Both are named after the trial and end with it.
    """

    kind: TargetKind
    path: str
    device: str | None = None
    identity: str | None = None
    device_size_bytes: int | None = None
    device_number: str | None = None
    others: tuple[TargetDisk, ...] = ()
    filesystem: Filesystem = "none"
    work_dir: str | None = None
    state_dir: str
    size_bytes: int

    @property
    def disks(self) -> tuple[TargetDisk, ...]:
        """All disks, in order; none for a directory."""
        if self.kind != "device":
            return ()
        first = TargetDisk(
            device=self.device or self.path,
            identity=self.identity,
            number=self.device_number,
            size_bytes=self.device_size_bytes,
        )
        return (first, *self.others)

    @property
    def capacity_bytes(self) -> int | None:
        """The size of the raw disk, of several the smallest; None for files or where unknown."""
        sizes = [disk.size_bytes for disk in self.disks]
        if self.work_dir is not None or not sizes or None in sizes:
            return None
        return min(size for size in sizes if size is not None)


class SharedMachine(Frozen):
    """A machine that trials of a matrix use in turn, each with new disks (`reuse_host`).

    `lease_id` is that of the machine and of all disks that it ever has; `turn` counts the trials
    from 1. What trials of one machine measured are no independent samples (method.md, MR-5).
    """

    lease_id: str
    turn: int = Field(ge=1)


class Plan(Frozen):
    """A cell, resolved against a real machine: what will be run, on what, and for how long.

    A trial is one machine with one disk; `run_ids` are its consecutive runs. A plan whose machine
    is rented is a draft until it was `acquired`.
    """

    format: Literal[1] = 1
    diskbench_version: str
    rental: Rental | None = None
    acquired: Acquired | None = None
    machine: SharedMachine | None = None
    """None for a machine of the trial's own."""
    shares_machine: bool = False
    """Whether other trials of its run measure on the same machine at the same time: then it has no
    canary."""
    campaign_id: str
    trial_id: str
    run_ids: tuple[str, ...]
    cell: Cell
    profile: ProfileFacts
    target: ResolvedTarget
    steps: tuple[Step, ...]
    loop: Loop | None = None
    search: Search | None = None
    facts: HostFacts
    expected_s: float
    space_bytes: int
    expectation: PlanExpectation | None = None
    """What it should find; None where nothing is known of its disk, and in plans made before
    expectations were."""
    catalogue: str | None = None
    """The digest of what was refreshed of the catalogue; None for the shipped one."""
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """What was changed of the user's job file so that it fits the target (fio/retarget.py)."""

    @property
    def lease_id(self) -> str:
        """What everything that is rented for it carries."""
        return self.machine.lease_id if self.machine else self.trial_id

    @property
    def address(self) -> str | None:
        """Where the machine is reached: as typed or as acquired; None for this one, or for one
        that is not there yet."""
        return self.acquired.address if self.acquired else self.cell.address

    @property
    def is_draft(self) -> bool:
        """Whether its machine is still to be rented: facts and target are assumed then."""
        return self.rental is not None and self.acquired is None

    @property
    def conditions(self) -> tuple[Threshold, ...]:
        """What the figures have to keep to: the thresholds of the profile, and the user's own."""
        return (*self.profile.thresholds, *self.cell.fail_if)

    @property
    def emulated(self) -> bool:
        """Whether the result says nothing about a cloud: made on this machine, or on a rented one
        whose guest does not prove where it runs."""
        if self.cell.provider in EMULATED_PROVIDERS:
            return True
        if self.rental is None:
            return False
        vouched = self.facts.cloud.verified
        return not vouched or (self.acquired is not None and self.acquired.emulated)

    def place_of(self, index: int) -> int:
        """The index in `steps` of step `index` of a run, where the run counts its steps through all
        rounds of the loop."""
        if self.loop is None or index < self.loop.first:
            return index
        body = len(self.steps) - self.loop.first
        return self.loop.first + (index - self.loop.first) % body

    def expected_of(
        self, index: int, *, of_round: int | None = None, run: int = 1
    ) -> Expectation | None:
        """The expectation of step `index` of `run` (runs count from 1); None if unknown."""
        if self.expectation is None:
            return None
        step = self.expectation.step(self.place_of(index), run, of_round)
        return self.expectation.of(step)
