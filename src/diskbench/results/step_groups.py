"""The measured steps of a run, each with all its rounds, from rows, evidence and phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from diskbench.analysis.row_figures import step_figure
from diskbench.errors import DiskbenchError
from diskbench.fio.declared import options_of
from diskbench.fio.device import device_counts
from diskbench.fio.reported import DirectionStats
from diskbench.fio.rows import whole_block
from diskbench.model.expectation import Load
from diskbench.model.phase import StepPhases
from diskbench.model.result import Measurement, StepResult
from diskbench.model.spec import Plan
from diskbench.plan.loads import asked_by
from diskbench.plan.published import GOBONNIEGO_FILE
from diskbench.results.run_evidence import StepEvidence
from diskbench.units import KIB, MIB, NS_PER_S

_NOT_JUDGED = frozenset({"fill", "canary"})
_SEQUENTIAL = 64 * KIB
_SECTOR = 512


@dataclass(frozen=True)
class StepGroup:
    """One step of a run, its rounds together.

    `index` is the step index of the first round, `of_round` the number of that round; None for a
    step that is not repeated. `is_judged`: it measures the disk; steps that fill it and canaries do
    not. `rows` are those of all rounds, `rounds` the merged rows of each round in which something
    was done, in order. `iops` and `bytes_per_s` are as fio counted them, in all directions; of a
    repeated step the median of its last five rounds. `seconds` is how long all rounds ran together.
    `load` is None where its jobs differ too much for one load, or it is not known.
    """

    results: tuple[StepResult, ...]
    evidence: tuple[StepEvidence, ...]
    phases: StepPhases | None
    index: int
    name: str
    is_judged: bool
    of_round: int | None
    rows: tuple[Measurement, ...]
    rounds: tuple[tuple[Measurement, ...], ...]
    iops: float | None
    bytes_per_s: float | None
    seconds: float
    load: Load | None


def groups_of(
    results: Sequence[StepResult],
    evidence_of_steps: Sequence[StepEvidence],
    phases: Sequence[StepPhases],
    plan: Plan | None,
    provider: str,
) -> list[StepGroup]:
    """The steps of one run in order, without those that have neither I/O nor phases. Steps that
    fill the disk are included (`is_judged` is False), because they use up credit, too.

    `provider` is the run's: for a file of GoBonnieGo the kind of its rows determines the load."""
    parts: dict[tuple[str, int | None], _Parts] = {}

    def of(step: str, index: int, of_round: int | None, role: str | None) -> _Parts:
        """The parts of a step; the first one that is found says what the step is."""
        place = (step, index if of_round is None else None)
        return parts.setdefault(place, _Parts(step, index, of_round, role))

    for result in sorted(results, key=lambda result: result.step_index):
        of(result.step, result.step_index, result.round, result.role).results.append(result)
    for evidence in evidence_of_steps:
        step = evidence.step
        of(step.name, step.index, step.round, step.role).evidence.append(evidence)
    for course in phases:
        of(course.step, course.step_index, course.rounds, None).phases = course
    groups = [_group(part, plan, provider) for part in parts.values()]
    active = [group for group in groups if group.rounds or group.phases]
    return sorted(active, key=lambda group: group.index)


@dataclass
class _Parts:
    """What belongs to one step, while it is put together. `role` is None where only its phases are
    known."""

    step: str
    index: int
    of_round: int | None
    role: str | None
    results: list[StepResult] = field(default_factory=list)
    evidence: list[StepEvidence] = field(default_factory=list)
    phases: StepPhases | None = None


def _group(parts: _Parts, plan: Plan | None, provider: str) -> StepGroup:
    rows = tuple(row for result in parts.results for row in result.measurements)
    by_index: dict[int, list[Measurement]] = {}
    for row in rows:
        if row.scope == "step" and row.direction != "sync" and row.did_io:
            by_index.setdefault(row.step_index, []).append(row)
    rounds = tuple(tuple(by_index[index]) for index in sorted(by_index))
    figure = step_figure([row for of_round in rounds for row in of_round], None)
    ran_s = sum(max(row.runtime_ns or 0 for row in of_round) / NS_PER_S for of_round in rounds)
    return StepGroup(
        results=tuple(parts.results),
        evidence=tuple(parts.evidence),
        phases=parts.phases,
        index=parts.index,
        name=parts.step,
        is_judged=parts.role not in _NOT_JUDGED,
        of_round=None if parts.role is None else parts.of_round,
        rows=rows,
        rounds=rounds,
        iops=figure.iops if figure else None,
        bytes_per_s=figure.bytes_per_s if figure else None,
        seconds=ran_s or (parts.phases.seconds if parts.phases else 0.0),
        load=_of_gobonniego(rounds) if provider == GOBONNIEGO_FILE else _load(parts, plan),
    )


def _load(parts: _Parts, plan: Plan | None) -> Load | None:
    if not parts.evidence or not parts.evidence[0].step.job:
        return (None if plan else _of_rows(parts.results)) or _of_log(parts.phases)
    disk = plan.facts.disk if plan else None
    capacity_bytes = plan.target.capacity_bytes if plan else None
    evidence = parts.evidence[0]
    ahead_kb = disk.read_ahead_kb if disk else None
    direct = None
    if not evidence.says_direct:
        direct, ahead_kb = _as_counted(evidence)
    try:
        asked = asked_by(
            evidence.step,
            capacity_bytes=capacity_bytes,
            read_ahead_kb=ahead_kb,
            says_direct=evidence.says_direct,
            direct=direct,
            disks=max(len(plan.target.disks), 1) if plan else 1,
        )
    except DiskbenchError:
        return None  # options of an imported file that no job file could have
    return asked.stage.load if asked.is_one else None


def _as_counted(evidence: StepEvidence) -> tuple[bool | None, int | None]:
    """Whether the device's count shows that I/O was direct, and the KiB that the page cache read at
    once where it was not; None where nothing shows it."""
    output = evidence.output
    if output is None:
        return None, None
    counts = device_counts(output, [options_of(job, output, {}) for job in output.jobs]).values()
    if counts and all(count.is_one_each for count in counts):
        return True, None
    gathered = [count.gathered_bytes for count in counts if count.gathered_bytes]
    return (False, max(gathered) // KIB) if gathered else (None, None)


def _of_rows(results: Sequence[StepResult]) -> Load | None:
    """The load of rows whose job file is not known, from their counts: blocks of bytes / I/Os. They
    are taken to reach the disk as they are, whatever their pattern; None for blocks of several
    sizes."""
    rows = [
        row
        for result in results
        for row in result.measurements
        if row.scope == "step" and row.direction in ("read", "write") and row.iops
    ]
    blocks = {row.block_bytes or _of_counts(row) for row in rows}
    done = sum(row.iops or 0.0 for row in rows)
    if len(blocks) != 1 or (block := blocks.pop()) is None:
        return None
    depths = {row.iodepth * row.jobs if row.iodepth else None for row in rows}
    return Load(
        block_bytes=block,
        read_share=sum(row.iops or 0.0 for row in rows if row.direction == "read") / done,
        random=all((row.rw or "").startswith("rand") for row in rows),
        direct=None,
        depth=depths.pop() if len(depths) == 1 else None,
    )


def _of_counts(row: Measurement) -> int | None:
    """The block of a row that names none, from its counts or, where it has none, its rates."""
    ios, moved = row.ios or row.iops, row.bytes if row.ios else row.bytes_per_s
    stats = DirectionStats(ios=round(ios or 0), bytes=round(moved or 0), runtime_ns=0)
    return whole_block(stats)


READS_OF_TEN = 0.9
"""GoBonnieGo's random step: nine reads to a write (bench/bench.go)."""


def _of_gobonniego(rounds: Sequence[Sequence[Measurement]]) -> Load | None:
    """Buffered I/O: sequential writes or reads, or random I/O with one request per thread."""
    row = next((row for rows in rounds for row in rows), None)
    if row is None or row.block_bytes is None:
        return None
    random = (row.rw or "").startswith("rand")
    reads = {"read": 1.0, "write": 0.0}.get(row.direction, READS_OF_TEN)
    return Load(
        block_bytes=row.block_bytes,
        read_share=reads,
        random=random,
        direct=False,
        depth=row.jobs if random else None,
    )


def _of_log(course: StepPhases | None) -> Load | None:
    """The load that a log of rates per second implies: direct reads with the median size of its
    I/Os, random below 64 KiB. A log with only one of both rates is taken as 4 KiB random (IOPS) or
    1 MiB sequential (bytes), the usual purpose of such logs."""
    if course is None:
        return None
    sizes = [
        phase.bytes_per_s / phase.iops
        for phase in course.phases
        if phase.iops and phase.bytes_per_s
    ]
    if sizes:
        block = max(round(median(sizes) / _SECTOR) * _SECTOR, _SECTOR)
    else:
        block = MIB if course.figure == "bytes_per_s" else 4 * KIB
    return Load(block_bytes=block, random=block < _SEQUENTIAL)
