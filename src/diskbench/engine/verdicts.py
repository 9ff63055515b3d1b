"""Verdicts on what was measured: rows, evidence, plan and phases brought together.

Read when asked for, like phases, and never stored with the rows: better rules judge old runs, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from diskbench.analysis.limiter import Client, Setting
from diskbench.analysis.queue_depth import Sibling
from diskbench.analysis.verdict import Measured, Promise, verdict
from diskbench.engine.step_evidence import StepEvidence, read_steps
from diskbench.errors import DiskbenchError, UnknownName
from diskbench.fio.client_bound import client_shares
from diskbench.fio.warnings import step_warnings
from diskbench.model.facts import HostFacts
from diskbench.plan.loads import asked_by
from diskbench.plan.passes import has_host_cache
from diskbench.plan.turn import expected_of, place_of
from diskbench.store.phases import run_phases
from diskbench.store.rows import find_plan, load_results
from diskbench.units import NS_PER_S

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.model.expectation import Load
    from diskbench.model.phase import StepPhases
    from diskbench.model.result import Measurement, StepResult
    from diskbench.model.result import Warning as Doubt
    from diskbench.model.spec import Plan
    from diskbench.model.verdict import Verdict
    from diskbench.ports import EvidenceStore

WINDOW_ROUNDS = 5
_NOT_JUDGED = frozenset({"fill", "canary"})
_NETWORK_TRANSPORTS = frozenset({"iscsi", "fc", "fcoe", "nbd"})


def run_verdicts(
    database: Engine,
    evidence: EvidenceStore,
    run: Mapping[str, Any],
    *,
    phases: Sequence[StepPhases] | None = None,
) -> tuple[Verdict, ...]:
    """The verdict on each measured step of a run (a row, as `find_run` gives it), in order.

    `phases` are those of the run, where the caller has them. A run whose evidence is gone is judged
    by its rows alone.
    """
    plan = find_plan(database, run["trial_id"])
    number = run["run_index"] + 1
    results = load_results(database, run["run_id"])[run["run_id"]]
    if phases is None:
        try:
            phases = run_phases(evidence, run["run_id"], plan, run=number)
        except DiskbenchError:
            phases = ()
    return verdicts_of(evidence, run["run_id"], results, plan, phases, number=number)


def verdicts_of(
    evidence: EvidenceStore,
    run_id: str,
    results: Sequence[StepResult],
    plan: Plan | None,
    phases: Sequence[StepPhases] = (),
    *,
    number: int = 1,
) -> tuple[Verdict, ...]:
    """As `run_verdicts`, from the results of the run, number `number` of its trial from 1."""
    try:
        kept = read_steps(evidence, run_id)
    except (UnknownName, DiskbenchError):
        kept = ()
    groups = _groups(results, kept)
    of_phases = {one.step_index: one for one in phases if one.run_id in ("", run_id)}
    loads = [_load(group, plan) for group in groups]
    figures = [_measured(group, run_id, of_phases) for group in groups]
    found = []
    for group, load, figure in zip(groups, loads, figures, strict=True):
        if figure is None:
            continue
        others = [
            (other.step, like, other.iops)
            for other, like in zip(figures, loads, strict=True)
            if other is not None and other is not figure and other.iops is not None
        ]
        setting = _setting(group, plan, load, others)
        found.append(verdict(figure, setting, _promise(group, plan, number), _doubts(group, plan)))
    return tuple(found)


class _Group:
    """A step, with its rounds: what its rows say and what its evidence does."""

    def __init__(self) -> None:
        self.results: list[StepResult] = []
        self.kept: list[StepEvidence] = []

    @property
    def index(self) -> int:
        """That of the first round."""
        return self.results[0].step_index if self.results else self.kept[0].step.index

    @property
    def name(self) -> str:
        return self.results[0].step if self.results else self.kept[0].step.name

    @property
    def of_round(self) -> int | None:
        return self.results[0].round if self.results else self.kept[0].step.round

    @property
    def rows(self) -> list[Measurement]:
        return [row for result in self.results for row in result.measurements]


def _groups(results: Sequence[StepResult], kept: Sequence[StepEvidence]) -> list[_Group]:
    """Measured steps in order, the rounds of one together."""
    groups: dict[tuple[str, int | None], _Group] = {}

    def of(name: str, index: int, of_round: int | None) -> _Group:
        return groups.setdefault((name, index if of_round is None else None), _Group())

    for result in sorted(results, key=lambda one: one.step_index):
        if result.role not in _NOT_JUDGED:
            of(result.step, result.step_index, result.round).results.append(result)
    for one in kept:
        step = one.step
        if step.role not in _NOT_JUDGED:
            of(step.name, step.index, step.round).kept.append(one)
    return sorted(groups.values(), key=lambda group: group.index)


def _measured(group: _Group, run_id: str, phases: Mapping[int, StepPhases]) -> Measured | None:
    """Its figure; None where neither rows nor phases tell one."""
    course = phases.get(group.index)
    rounds: dict[int, list[Measurement]] = {}
    for row in group.rows:
        if row.scope == "step" and row.direction != "sync" and row.ios:
            rounds.setdefault(row.step_index, []).append(row)
    if not rounds and course is None:
        return None
    last = [rounds[index] for index in sorted(rounds)][-WINDOW_ROUNDS:]
    return Measured(
        run_id=run_id,
        step_index=group.index,
        step=group.name,
        rounds=None if group.of_round is None else len(rounds),
        iops=median(sum(row.iops for row in of) for of in last) if last else None,
        bytes_per_s=median(sum(row.bytes_per_s for row in of) for of in last) if last else None,
        seconds=sum(max(row.runtime_ns for row in of) / NS_PER_S for of in rounds.values())
        or (course.seconds if course else 0.0),
        phases=course,
    )


def _load(group: _Group, plan: Plan | None) -> Load | None:
    """What the step asked of its disk; None where its jobs are too different from each other, or
    nobody tells."""
    if not group.kept or not group.kept[0].step.job:
        return None
    disk = plan.facts.disk if plan else None
    whole = plan.target.device_size_bytes if plan and not plan.target.work_dir else None
    try:
        asked = asked_by(
            group.kept[0].step, whole=whole, read_ahead_kb=disk.read_ahead_kb if disk else None
        )
    except DiskbenchError:
        return None  # options of an imported file that no job file could have
    return asked.stage.load if asked.is_one else None


def _promise(group: _Group, plan: Plan | None, number: int) -> Promise | None:
    expected = expected_of(plan, group.index, of_round=group.of_round, run=number)
    if plan is None or plan.expectation is None or expected is None:
        return None
    told = plan.expectation.step(place_of(plan, group.index), number, group.of_round)
    source = "--promise" if plan.expectation.sources == ("--promise",) else "catalogue"
    return Promise(expected, source, told.credit if told else {})


def _setting(
    group: _Group,
    plan: Plan | None,
    load: Load | None,
    others: Iterable[tuple[str, Load | None, float]],
) -> Setting:
    like = load.model_copy(update={"depth": None}) if load else None
    return Setting(
        load=load,
        client=_client(group),
        device_share=_device_share(group),
        keeps_cache=bool(group.kept) and group.kept[0].step.page_cache == "keep",
        host_cache=plan is not None and has_host_cache(plan.cell),
        network=_network(plan),
        siblings=tuple(
            Sibling(name, other.depth, iops)
            for name, other, iops in others
            if other is not None
            and other.depth is not None
            and other.model_copy(update={"depth": None}) == like
        ),
    )


def _client(group: _Group) -> Client:
    """The busiest of its rounds: one that was held up makes the figure doubtful."""
    samples = [one.samples for one in group.kept if one.samples]
    shares = [client_shares(one.output, group.rows) for one in group.kept if one.output]
    return Client(
        busiest_core=_most(one.busiest_core for one in samples),
        steal=_most(one.steal for one in samples),
        busiest_job=_most(busiest for busiest, _ in shares),
        all_jobs=_most(together for _, together in shares),
    )


def _device_share(group: _Group) -> float | None:
    """What the device moved of fio's bytes, in the direction where that is least."""
    moved: dict[str, list[int]] = {"read": [0, 0], "write": [0, 0]}
    by_index = {one.step.index: one for one in group.kept}
    for row in group.rows:
        one = by_index.get(row.step_index)
        if one is None or row.scope != "step" or row.direction not in moved or not row.bytes:
            continue
        device = _device_bytes(one, row.direction)
        if device is None:
            return None
        moved[row.direction][0] += device
        moved[row.direction][1] += row.bytes
    return min((device / asked for device, asked in moved.values() if asked), default=None)


def _device_bytes(one: StepEvidence, direction: str) -> int | None:
    if one.samples is not None:
        samples = one.samples
        return samples.device_read_bytes if direction == "read" else samples.device_write_bytes
    disks = one.output.disks if one.output else ()
    if len(disks) != 1:
        return None
    return disks[0].read_bytes if direction == "read" else disks[0].write_bytes


def _network(plan: Plan | None) -> str | None:
    if plan is None:
        return None
    facts = plan.facts
    if facts.network_filesystem:
        return facts.mount.fstype if facts.mount else "a network filesystem"
    transport = facts.disk.transport if facts.disk else None
    return transport if transport in _NETWORK_TRANSPORTS else None


def _doubts(group: _Group, plan: Plan | None) -> list[Doubt]:
    """The warnings of its rounds; of an imported step those that fio's JSON alone gives."""
    told = [warning for result in group.results for warning in result.warnings]
    if plan is not None:
        return told
    rows = group.rows
    return told + [
        doubt
        for one in group.kept
        if one.output is not None
        for doubt in step_warnings(one.step, rows, one.output, HostFacts(), None)
    ]


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
