"""One run as the database knows it: what was asked for, where, on what, and how it ended; the
figure that stands for it in a list; and the keys by which runs are selected.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal

from diskbench.model.phase import PhaseKind
from diskbench.model.result import FINAL_STATES, RunState, ShownState
from diskbench.model.verdict import Trust

Mark = Literal["emulated", "unverified", "imported", "published"]
IMPORT = "import/"
"""What the provider of an imported run begins with; the tool's name follows."""
GOBONNIEGO_FILE = f"{IMPORT}gobonniego"
PUBLISHED = f"{IMPORT}published"
"""The provider of runs that are the figures of a post."""


@dataclass(frozen=True, slots=True)
class Run:
    """A row of the table of runs, column by column: names end in their unit, times are ISO 8601 in
    UTC, None is not known. A dataclass, because lists of runs have ten thousands of them.

    `run_index` counts from 0 within the trial; `measured_at` is None where it is not known.
    """

    run_id: str
    trial_id: str
    campaign_id: str
    run_index: int
    replicate: int
    state: ShownState
    error_kind: str | None
    error: str | None
    advice: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    expected_s: float | None
    profile: str
    profile_digest: str | None
    parameters: Mapping[str, str]
    labels: Mapping[str, str]
    provider: str
    address: str | None
    target_kind: str | None
    target_path: str | None
    target_device: str | None
    target_identity: str | None
    filesystem: str | None
    size_bytes: int | None
    hostname: str | None
    cloud: str | None
    instance_type: str | None
    zone: str | None
    cpu_model: str | None
    cpu_count: int | None
    memory_bytes: int | None
    kernel: str | None
    distribution: str | None
    virtualisation: str | None
    fio_version: str | None
    disk_model: str | None
    disk_driver: str | None
    disk_transport: str | None
    disk_size_bytes: int | None
    emulated: bool
    unverified: bool
    imported: bool
    evidence_url: str | None
    diskbench_version: str | None
    format: int
    parser_version: int
    machine_lease: str | None
    measured_at: str | None
    region: str | None
    disk_cloud: str | None
    disk_type: str | None
    disk_gib: int | None
    disk_count: int | None
    provisioned_iops: int | None
    provisioned_bytes_per_s: float | None
    host_cache: str | None

    @property
    def number(self) -> int:
        """The number of the run within its trial, from 1."""
        return self.run_index + 1

    @property
    def place(self) -> str:
        """Where it was measured: its address, or the name of its host; empty where neither is
        known."""
        return self.address or self.hostname or ""

    @property
    def when(self) -> str | None:
        """When it was measured, by which lists are in order; None where it is not known."""
        return self.measured_at or self.started_at

    def machine(self, *, rented: bool) -> str:
        """The key of the machine on which trials depend, which therefore count as one sample
        (MR-5): one that they used in turn, or one that existed before. `rented` says whether the
        run's machine was rented.

        Of an imported run only what its files or its label `machine` say is known; imported runs
        without either may all be of one machine, and get one key.
        """
        if self.machine_lease:
            return self.machine_lease
        if rented:
            return self.trial_id
        named = self.labels.get("machine") if self.imported and self.labels else None
        return f"there:{self.provider}:{named or self.place}"

    def has(self, mark: Mark) -> bool:
        """Whether a reader must know this before believing its numbers."""
        if mark == "published":
            return self.provider == PUBLISHED
        return {"emulated": self.emulated, "unverified": self.unverified}.get(mark, self.imported)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Those of its marks that every list of runs shows."""
        shown: tuple[Mark, ...] = ("emulated", "imported", "published")
        return tuple(mark for mark in shown if self.has(mark))


RUN_FIELDS = tuple(column.name for column in fields(Run))


def run_columns(run: Run) -> dict[str, Any]:
    """A run by the names of its columns, in their order: what JSON and CSV have of it."""
    return dict(zip(RUN_FIELDS, run_values(run), strict=True))


@dataclass(frozen=True, slots=True)
class AskedRun:
    """A run with what was asked for: `rent` as it was typed (None: the machine was there, or
    nothing of it is known), and `scope`, whose account it was rented with, and where."""

    run: Run
    rent: Mapping[str, Any] | None = None
    scope: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """A row of the table of measurements with its run; fields as those of a Measurement, and
    `job_error` is fio's error of the job. `rent` is what was to be rented, as typed; None: nothing,
    or it is not known. A reader of figures leaves out the columns that it does not need."""

    run: Run
    rent: Mapping[str, Any] | None = None
    step_index: int
    scope: str = "step"
    job_index: int | None = None
    job: str | None = None
    direction: str
    step: str
    role: str
    round: int | None
    jobs: int | None = None
    rw: str | None
    block_bytes: int | None
    iodepth: int | None
    ios: int | None
    bytes: int | None
    runtime_ns: int | None
    iops: float | None
    bytes_per_s: float | None
    lat_mean_ns: float | None = None
    lat_min_ns: int | None = None
    lat_max_ns: int | None = None
    lat_stddev_ns: float | None = None
    clat_mean_ns: float | None = None
    clat_min_ns: int | None = None
    clat_max_ns: int | None = None
    clat_stddev_ns: float | None = None
    clat_samples: int | None = None
    slat_mean_ns: float | None = None
    slat_max_ns: int | None = None
    quantiles_of: str | None = None
    p50_ns: float | None = None
    p90_ns: float | None = None
    p95_ns: float | None = None
    p99_ns: float | None = None
    p99_9_ns: float | None = None
    p99_99_ns: float | None = None
    cpu_user: float | None = None
    cpu_system: float | None = None
    context_switches: int | None = None
    short_ios: int | None = None
    job_error: int | None = None

    @property
    def run_id(self) -> str:
        return self.run.run_id


MEASURED_FIELDS = tuple(one.name for one in fields(MeasuredRow)[2:])
"""Its own columns, without its run and what was to be rented."""
AFTER_CLIFF = "after_cliff"
"""The column that marks rows whose figures are of one level of several: its kind."""
own_values = attrgetter(*MEASURED_FIELDS)
"""The values of MEASURED_FIELDS of a row."""
run_values = attrgetter(*RUN_FIELDS)
"""The values of RUN_FIELDS of a run."""


def own_columns(row: MeasuredRow) -> dict[str, Any]:
    """A row by the names of its own columns, without those of its run."""
    return dict(zip(MEASURED_FIELDS, own_values(row), strict=True))


@dataclass(frozen=True, slots=True)
class Headline:
    """The figure of one step of a run, of all its directions together, and its trust.

    `kind` is the kind of the level that the figure is of, None where the step kept one. `trust` is
    None where nothing judged the run yet.
    """

    step: str
    iops: float | None
    bytes_per_s: float | None
    kind: PhaseKind | None = None
    trust: Trust | None = None
    is_random: bool = field(default=False, compare=False)
    block_bytes: int | None = field(default=None, compare=False)
    """Its load, by which the step that stands for a run is chosen; it is not stored."""

    @property
    def rate(self) -> float:
        """The value by which headlines of one step are ordered."""
        return self.iops if self.iops is not None else self.bytes_per_s or 0.0


@dataclass(frozen=True, slots=True)
class ListedTrial:
    """A line of `results list`: the runs of a trial that meet its filters.

    `number` counts all trials, the newest is 1; `newest` is the newest of the runs; `states` counts
    them by state; `suspended`: no process works on those that have not ended.
    """

    number: int
    newest: Run
    states: Mapping[RunState, int]
    headline: Headline | None = None
    suspended: bool = False

    @property
    def runs(self) -> int:
        return sum(self.states.values())

    @property
    def done(self) -> int:
        return self.states.get("done", 0)

    @property
    def unfinished(self) -> bool:
        return not self.states.keys() <= set(FINAL_STATES)


KEYS: dict[str, tuple[str, str, str]] = {
    "disk": ("disk_type", "disk=gp2", "disk type, as the cloud calls it"),
    "size": ("disk_gib", "size>=100", "size of one disk that was rented, in GiB"),
    "region": ("region", "region=eu-central-1", "region of the cloud"),
    "zone": ("zone", "zone=eu-central-1a", "zone of the cloud"),
    "instance": ("instance_type", "instance~m7i", "machine type, as the cloud calls it"),
    "cache": ("host_cache", "cache=readonly", "host cache: none, readonly, readwrite"),
    "provider": ("provider", "provider=lab", "where the machine came from: local, ssh, lab …"),
    "profile": ("profile", "profile=quick", "name of the profile"),
    "date": ("measured_at", "date>=2026-11-01", "when it was measured, in UTC"),
    "state": ("state", "state=done", "planned, running, done, failed, interrupted, cancelled"),
    "iops": ("iops", "iops>3000", "IOPS of one of its steps"),
    "p99": ("p99_ns", "p99<2000000", "p99 latency of one of its steps, in nanoseconds"),
}
"""A name that may be typed → the column that it stands for, an example, and what it is."""
LABEL, PARAMETER = "label", "set"
COLUMN_OF = {name: column for name, (column, *_) in KEYS.items()}
BY_LABEL = {COLUMN_OF[name]: name for name in ("disk", "region", "zone", "instance", "cache")}
"""Columns of which a label with the key's name speaks where the run itself knows nothing."""
_TOLD = ("disk", "size", "region", "profile", "iops")
OPERATORS = "= != > >= < <= and ~ (contains)"

_SOME = ", ".join(KEYS[name][1] for name in _TOLD)
FILTER_HELP = (
    f"Only runs that meet all: {_SOME}, label.team=x. Keys: "
    f"{', '.join(KEYS)}, and every column of `results list --output csv`."
)
SELECTION_HELP = (
    "runs, trials or matrices (numbers of `results list`, ids or the beginnings of them, `last`, "
    "`last~1`, names), KEY=VALUE (disk=gp2, region=eu-central-1, size>=100, a label …) or dates "
    "(2026-11-01..2026-11-07)"
)
FORMS = (
    "a run, trial or matrix; KEY=VALUE such as disk=gp2 or a label; or dates: "
    "2026-11-01..2026-11-07"
)
