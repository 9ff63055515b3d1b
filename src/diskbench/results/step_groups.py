"""The measured steps of a run, each with all its rounds, from rows, evidence and phases."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from diskbench.analysis.row_figures import step_figure
from diskbench.catalog.published import GOBONNIEGO_STEPS, LOADS
from diskbench.errors import DiskbenchError
from diskbench.fio.declared import options_of
from diskbench.fio.device import device_counts
from diskbench.fio.reported import DirectionStats
from diskbench.fio.rows import whole_block
from diskbench.model.expectation import Load
from diskbench.model.phase import StepPhases
from diskbench.model.result import Measurement, StepResult
from diskbench.model.run import GOBONNIEGO_FILE
from diskbench.model.spec import Plan
from diskbench.parallel import grouped
from diskbench.plan.loads import asked_by
from diskbench.results.run_evidence import StepEvidence
from diskbench.units import KIB, MIB, NS_PER_S

_SEQUENTIAL = 64 * KIB
_SECTOR = 512


@dataclass(frozen=True)
class StepGroup:
    """One step of a run, its rounds together. `index` is the step index of the first round,
    `of_round` the number of that round; None for a step that is not repeated. `is_judged`: it
    measures the disk; steps that fill it and canaries do not. `rows` are those of all rounds,
    `rounds` the merged rows of each round in which something was done, in order. `iops` and
    `bytes_per_s` are as fio counted them, in all directions; of a repeated step the median of its
    last five rounds. `seconds` is how long all rounds ran together. `load` is None where its jobs
    differ too much for one load, or it is not known."""

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
    evidence: Sequence[StepEvidence],
    phases: Sequence[StepPhases],
    plan: Plan | None,
    provider: str,
) -> list[StepGroup]:
    """The steps of one run in order, without those that have neither I/O nor phases. Steps that
    fill the disk are included (`is_judged` is False), because they use up credit, too. `provider`
    is the run's: for a file of GoBonnieGo the step's name says the load."""
    in_order = sorted(results, key=lambda result: result.step_index)
    results_of = grouped(in_order, lambda of: _place(of.step, of.step_index, of.round))
    steps_of = grouped(evidence, lambda of: _place(of.step.name, of.step.index, of.step.round))
    phases_of = {_place(of.step, of.step_index, of.rounds): of for of in phases}
    groups = []
    for place in dict.fromkeys((*results_of, *steps_of, *phases_of)):
        known = results_of.get(place, ()), steps_of.get(place, ()), phases_of.get(place)
        groups.append(_group(place[0], *known, plan, provider))
    active = [group for group in groups if group.rounds or group.phases]
    return sorted(active, key=lambda group: group.index)


def _place(step: str, index: int, of_round: int | None) -> tuple[str, int | None]:
    """What the rounds of a step have in common, and no other step of its name."""
    return step, index if of_round is None else None


def _group(
    name: str,
    results: Sequence[StepResult],
    evidence: Sequence[StepEvidence],
    phases: StepPhases | None,
    plan: Plan | None,
    provider: str,
) -> StepGroup:
    """The step that these belong to; the first of them says what it is. Where only its phases are
    known, its role is not."""
    index, of_round, role = phases.step_index if phases else 0, None, ""
    if results:
        index, of_round, role = results[0].step_index, results[0].round, results[0].role
    elif evidence:
        step = evidence[0].step
        index, of_round, role = step.index, step.round, step.role
    rows = tuple(row for result in results for row in result.measurements)
    done = [row for row in rows if row.scope == "step" and row.direction != "sync" and row.did_io]
    by_index = grouped(done, lambda row: row.step_index)
    rounds = tuple(tuple(by_index[at]) for at in sorted(by_index))
    figure = step_figure([row for of_round in rounds for row in of_round], None)
    ran_s = sum(max(row.runtime_ns or 0 for row in of_round) / NS_PER_S for of_round in rounds)
    load = _load(results, evidence, phases, plan)
    if provider == GOBONNIEGO_FILE:
        load = LOADS[GOBONNIEGO_STEPS[name]] if rounds else None
        if load is not None and load.random:  # a request of each thread
            load = load.model_copy(update={"depth": rounds[0][0].jobs})
    return StepGroup(
        results=tuple(results),
        evidence=tuple(evidence),
        phases=phases,
        index=index,
        name=name,
        is_judged=role not in {"fill", "canary"},
        of_round=of_round,
        rows=rows,
        rounds=rounds,
        iops=figure.iops if figure else None,
        bytes_per_s=figure.bytes_per_s if figure else None,
        seconds=ran_s or (phases.seconds if phases else 0.0),
        load=load,
    )


def _load(
    results: Sequence[StepResult],
    evidence_of_step: Sequence[StepEvidence],
    phases: StepPhases | None,
    plan: Plan | None,
) -> Load | None:
    if not evidence_of_step or not evidence_of_step[0].step.job:
        return (None if plan else _of_rows(results)) or _of_log(phases)
    disk = plan.facts.disk if plan else None
    evidence = evidence_of_step[0]
    direct, ahead_kb = None, disk.read_ahead_kb if disk else None
    if not evidence.says_direct:
        direct, ahead_kb = _as_counted(evidence)
    try:
        asked = asked_by(
            evidence.step,
            capacity_bytes=plan.target.capacity_bytes if plan else None,
            read_ahead_kb=ahead_kb,
            says_direct=evidence.says_direct,
            direct=direct,
            disks=max(len(plan.target.disks), 1) if plan else 1,
        )
    except DiskbenchError:
        return None  # options of an imported file that no job file could have
    return asked.load if asked.is_one else None


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
    blocks = set()
    for row in rows:  # of a row that names none, from its counts or, where it has none, its rates
        ios, moved = row.ios or row.iops, row.bytes if row.ios else row.bytes_per_s
        stats = DirectionStats(ios=round(ios or 0), bytes=round(moved or 0), runtime_ns=0)
        blocks.add(row.block_bytes or whole_block(stats))
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


def _of_log(course: StepPhases | None) -> Load | None:
    """The load that a log of rates per second implies: direct reads with the median size of its
    I/Os, random below 64 KiB. A log with only one of both rates is taken as 4 KiB random (IOPS) or
    1 MiB sequential (bytes), the usual purpose of such logs."""
    if course is None:
        return None
    both = [phase for phase in course.phases if phase.iops and phase.bytes_per_s]
    sizes = [(phase.bytes_per_s or 0.0) / (phase.iops or 1.0) for phase in both]
    block = MIB if course.figure == "bytes_per_s" else 4 * KIB
    if sizes:
        block = max(round(median(sizes) / _SECTOR) * _SECTOR, _SECTOR)
    return Load(block_bytes=block, random=block < _SEQUENTIAL)
