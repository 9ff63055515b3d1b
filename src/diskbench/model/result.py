"""What was measured: the state of a run, one row per (run, step, job, direction), what to doubt in
it, and whether its figures agree with each other.
"""

from typing import Final, Literal

from diskbench.model.base import Frozen

RunState = Literal["planned", "running", "done", "failed", "interrupted", "cancelled"]
FINAL_STATES: tuple[RunState, ...] = ("done", "failed", "interrupted", "cancelled")
ShownState = RunState | Literal["suspended"]
"""`suspended`: the run has not ended and no process works on it. It is found out when runs are
listed, because a process that dies cannot write it."""


Direction = Literal["read", "write", "trim", "mixed", "sync"]
"""`mixed` is what fio reports with unified_rw_reporting=1: all directions in one."""

Scope = Literal["job", "step"]
AuditName = Literal["bytes", "rate", "percentiles", "end", "logs"]


class Warning(Frozen):  # noqa: A001 - the field's word; it never meets the built-in here
    """A reason to doubt a result. `code` is stable; `advice` names what to do next."""

    code: str
    message: str
    advice: str = ""
    step: str | None = None


class Measurement(Frozen):
    """One row. `scope` is `job` for one fio job and `step` for all jobs of a step merged; a step
    row is named `all` and has job_index -1. Rows of direction `sync` count calls of fsync and
    fdatasync.

    Latencies are nanoseconds; rates are per second of the job's own runtime. Quantiles come from
    merged json+ histogram counts and are None where fewer I/Os than ln 0.05 / ln p stand behind
    them (MR-10). `lat_*` is total latency, `clat_*` completion, `slat_*` submission.
    `quantiles_of` says which of the first two the quantiles describe: total latency where fio gave
    its histogram, else completion latency; `clat_samples` is how many I/Os stand behind them.
    `ios`, `bytes`, `runtime_ns`, `iops`, `bytes_per_s` and `clat_samples` are None where a tool of
    others does not print them; fio's own rows have them all.
    `cpu_*` are fractions of one core (0.25 = a quarter of a core), summed over the jobs of a step.
    """

    run_id: str
    step_index: int
    step: str
    role: str
    round: int | None = None
    scope: Scope
    job: str
    job_index: int
    jobs: int = 1
    direction: Direction
    rw: str | None = None
    block_bytes: int | None = None
    iodepth: int | None = None
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
    clat_samples: int | None = 0
    quantiles_of: Literal["lat", "clat"] | None = None
    slat_mean_ns: float | None = None
    slat_max_ns: int | None = None
    p50_ns: float | None = None
    p90_ns: float | None = None
    p95_ns: float | None = None
    p99_ns: float | None = None
    p99_9_ns: float | None = None
    p99_99_ns: float | None = None
    cpu_user: float | None = None
    cpu_system: float | None = None
    context_switches: int | None = None
    short_ios: int = 0
    error: int = 0

    @property
    def did_io(self) -> bool:
        """Whether anything was done: by the count of I/Os, or by a rate or a latency where there is
        no count."""
        known = self.iops, self.bytes_per_s, self.lat_mean_ns, self.lat_min_ns, self.lat_max_ns
        return any(known) if self.ios is None else self.ios > 0


class StepResult(Frozen):
    """One finished step: its rows, its warnings, and how fio ended. Times are None where they
    are not known: in an import whose file has none."""

    step_index: int
    step: str
    role: str
    round: int | None = None
    started_at: str | None
    finished_at: str | None
    fio_exit: int
    fio_version: str
    measurements: tuple[Measurement, ...]
    warnings: tuple[Warning, ...] = ()
    seconds_in_fio: float = 0.0


class Tick(Frozen):
    """Totals of one second of a running step, from fio's own interim output."""

    elapsed_s: float
    read_iops: float = 0.0
    write_iops: float = 0.0
    read_bytes_per_s: float = 0.0
    write_bytes_per_s: float = 0.0
    latency_ns: float | None = None


class AuditCheck(Frozen):
    """One check. `holds` is None where the evidence does not say; `message` holds the figures."""

    name: AuditName
    holds: bool | None
    message: str


class StepAudit(Frozen):
    """The checks of one step of a run, each name once."""

    run_id: str
    step_index: int
    step: str
    round: int | None = None
    checks: tuple[AuditCheck, ...]


RECORD_NAMES: Final = ("plan.json", "step.json", "manifest.json")
"""The records of a run: see store/archive.py."""
LEFT_OUT: Final = "left-out.txt"
"""Beside the files of a step: those of the host that were not kept, a line each with the reason."""
