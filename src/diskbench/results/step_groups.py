"""The measured steps of a run, each with all its rounds, from rows, evidence and phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from diskbench.analysis.row_figures import counted, step_figure
from diskbench.errors import DiskbenchError
from diskbench.model.expectation import Load
from diskbench.plan.loads import asked_by
from diskbench.plan.published import GOBONNIEGO_FILE
from diskbench.units import KIB, MIB, NS_PER_S

if TYPE_CHECKING:
    from diskbench.analysis.figure import Figure
    from diskbench.model.phase import StepPhases
    from diskbench.model.result import Measurement, StepResult
    from diskbench.model.spec import Plan
    from diskbench.results.step_evidence import StepEvidence

_NOT_JUDGED = frozenset({"fill", "canary"})
_SEQUENTIAL = 64 * KIB
_SECTOR = 512


@dataclass
class StepGroup:
    """One step, its rounds together. Its figures are computed when they are first asked for, after
    `groups_of` has put together all that belongs to it."""

    results: list[StepResult] = field(default_factory=list)
    kept: list[StepEvidence] = field(default_factory=list)
    phases: StepPhases | None = None

    @property
    def index(self) -> int:
        """The step index of the first round."""
        if self.results:
            return self.results[0].step_index
        return self.kept[0].step.index if self.kept else self._course.step_index

    @property
    def name(self) -> str:
        """The name of the step."""
        if self.results:
            return self.results[0].step
        return self.kept[0].step.name if self.kept else self._course.step

    @property
    def is_judged(self) -> bool:
        """Whether the step measures the disk; steps that fill it and canaries do not."""
        if self.results:
            return self.results[0].role not in _NOT_JUDGED
        return not self.kept or self.kept[0].step.role not in _NOT_JUDGED

    @property
    def of_round(self) -> int | None:
        """The number of the first round; None for a step that is not repeated."""
        if self.results:
            return self.results[0].round
        return self.kept[0].step.round if self.kept else None

    @property
    def rows(self) -> list[Measurement]:
        """The rows of all rounds."""
        return [row for result in self.results for row in result.measurements]

    @cached_property
    def rounds(self) -> list[list[Measurement]]:
        """The merged rows of each round in which something was done, in order."""
        by_index: dict[int, list[Measurement]] = {}
        for row in self.rows:
            if row.scope == "step" and row.direction != "sync" and row.did_io:
                by_index.setdefault(row.step_index, []).append(row)
        return [by_index[index] for index in sorted(by_index)]

    @property
    def iops(self) -> float | None:
        """IOPS as fio counted them, in all directions; of a repeated step the median of its last
        five rounds."""
        return self._figure.iops if self._figure else None

    @property
    def bytes_per_s(self) -> float | None:
        """Bytes a second, computed as `iops`."""
        return self._figure.bytes_per_s if self._figure else None

    @property
    def seconds(self) -> float:
        """Seconds that all rounds ran together."""
        ran = sum(max(row.runtime_ns or 0 for row in rows) / NS_PER_S for rows in self.rounds)
        return ran or (self.phases.seconds if self.phases else 0.0)

    @cached_property
    def _figure(self) -> Figure | None:
        return step_figure(counted(row for rows in self.rounds for row in rows), None)

    @property
    def _course(self) -> StepPhases:
        assert self.phases is not None, "a group holds something"
        return self.phases


def groups_of(
    results: Sequence[StepResult], kept: Sequence[StepEvidence], phases: Sequence[StepPhases]
) -> list[StepGroup]:
    """The steps of one run in order, without those that have neither I/O nor phases. Steps that
    fill the disk are included (`is_judged` is False), because they use up credit, too."""
    groups: dict[tuple[str, int | None], StepGroup] = {}

    def of(name: str, index: int, of_round: int | None) -> StepGroup:
        return groups.setdefault((name, index if of_round is None else None), StepGroup())

    for result in sorted(results, key=lambda result: result.step_index):
        of(result.step, result.step_index, result.round).results.append(result)
    for evidence in kept:
        step = evidence.step
        of(step.name, step.index, step.round).kept.append(evidence)
    for course in phases:
        of(course.step, course.step_index, course.rounds).phases = course
    active = [group for group in groups.values() if group.rounds or group.phases]
    return sorted(active, key=lambda group: group.index)


def load_of(group: StepGroup, plan: Plan | None, provider: str = "") -> Load | None:
    """The load of the step; None where its jobs differ too much for one load, or it is not known.
    `provider` is the run's: for a file of GoBonnieGo the kind of its rows determines the load."""
    if provider == GOBONNIEGO_FILE:
        return _of_gobonniego(group)
    if not group.kept or not group.kept[0].step.job:
        return _of_log(group)
    disk = plan.facts.disk if plan else None
    whole = plan.target.capacity_bytes if plan else None
    try:
        asked = asked_by(
            group.kept[0].step,
            whole=whole,
            read_ahead_kb=disk.read_ahead_kb if disk else None,
            disks=max(len(plan.target.disks), 1) if plan else 1,
        )
    except DiskbenchError:
        return None  # options of an imported file that no job file could have
    return asked.stage.load if asked.is_one else None


READS_OF_TEN = 0.9
"""GoBonnieGo's random step: nine reads to a write (bench/bench.go)."""


def _of_gobonniego(group: StepGroup) -> Load | None:
    """Buffered I/O: sequential writes or reads, or random I/O with one request per thread."""
    row = next((row for rows in group.rounds for row in rows), None)
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


def _of_log(group: StepGroup) -> Load | None:
    """The load that a log of rates per second implies: direct reads with the median size of its
    I/Os, random below 64 KiB. A log with only one of both rates is taken as 4 KiB random (IOPS) or
    1 MiB sequential (bytes), the usual purpose of such logs."""
    course = group.phases
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
