"""Verdicts on measured steps, from rows, evidence, plan and phases.

Computed on each read, like phases, and never stored: improved rules then apply to old runs, too.
Only the figure and the trust that lists show are copied to the database (results/headlines.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.analysis.stretches import Measured, StepPromise
from diskbench.analysis.verdict import verdict
from diskbench.fio.warnings import step_warnings
from diskbench.model.doubts import LOOKS_LIKE, NO_RATE
from diskbench.model.facts import HostFacts
from diskbench.plan.as_disk import Hint, hint_of
from diskbench.plan.recognise import like, like_bytes
from diskbench.results.expectations import promises_of
from diskbench.results.headlines import keep_judged
from diskbench.results.other_disk import with_other_disk
from diskbench.results.over_runs import over_runs
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.step_counts import counted_otherwise
from diskbench.results.step_groups import StepGroup, groups_of, load_of
from diskbench.results.step_setting import setting_of
from diskbench.store.rows import find_plan, load_results
from diskbench.units import KIB

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.catalog.books import Books
    from diskbench.model.doubts import Reason
    from diskbench.model.expectation import Load
    from diskbench.model.result import StepResult, Warning  # noqa: A004 - the field's word
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.model.verdict import Verdict
    from diskbench.ports import EvidenceStore
    from diskbench.results.over_runs import OverRuns
    from diskbench.results.run_evidence import ReadRun

_SHOWN_AS_BYTES = 64 * KIB


def trial_verdicts(
    database: Engine,
    evidence: EvidenceStore,
    runs: Sequence[Run],
    *,
    books: Books,
    hint: Hint | None = None,
    results: Mapping[str, Sequence[StepResult]] | None = None,
) -> tuple[Verdict, ...]:
    """The verdicts on each measured step of all runs of one trial (rows), in order.

    `hint` describes their disk and takes precedence over the labels of the runs. A run whose
    evidence is gone is judged by its rows alone. `results` are their steps (None: they are read).
    Raises InvalidValue for a hint that names no disk.
    """
    ordered = sorted(runs, key=lambda run: run.run_index)
    plan = find_plan(database, ordered[0].trial_id)
    if results is None:
        results = load_results(database, *(run.run_id for run in ordered))
    named = hint or hint_of(ordered[0].labels or {})
    plans = {} if plan is None else {ordered[0].trial_id: plan}
    read = EvidenceOfRuns(lambda _: evidence).read(ordered, plans, with_audits=False)
    verdicts, _ = judge(ordered, results, plan, read, books, hint=named)
    if hint is None:
        keep_judged(database, results, verdicts)
    return verdicts


def judge(
    runs: Sequence[Run],
    results: Mapping[str, Sequence[StepResult]],
    plan: Plan | None,
    read: Mapping[str, ReadRun],
    books: Books,
    *,
    hint: Hint | None = None,
) -> tuple[tuple[Verdict, ...], Mapping[tuple[str, int], StepPromise]]:
    """The verdicts on the runs (rows) of one trial in order, and the promises of their steps, by
    run and index. `read` is what the evidence of each run says. Raises InvalidValue for a hint that
    names no disk."""
    runs_of: list[tuple[Run, list[StepGroup]]] = []
    for run in runs:
        said = read[run.run_id]
        groups = groups_of(results.get(run.run_id, ()), said.steps, said.phases)
        runs_of.append((run, groups))
    promises = promises_of(runs_of, plan, hint, books)
    runs_of = [(run, [group for group in groups if group.is_judged]) for run, groups in runs_of]
    of_runs = over_runs(runs_of)
    verdicts: list[Verdict] = []
    for run, groups in runs_of:
        verdicts += _of_run(run, groups, plan, hint or Hint(), of_runs, promises)
    return tuple(verdicts), promises


def _of_run(
    run: Run,
    groups: Sequence[StepGroup],
    plan: Plan | None,
    hint: Hint,
    of_runs: OverRuns,
    promises: Mapping[tuple[str, int], StepPromise],
) -> list[Verdict]:
    run_id = run.run_id
    loads = [load_of(group, plan, run.provider) for group in groups]
    verdicts = []
    for group, load in zip(groups, loads, strict=True):
        others = [
            (other.name, like, other.iops)
            for other, like in zip(groups, loads, strict=True)
            if other is not group and other.iops is not None
        ]
        measured = Measured(
            run_id=run_id,
            step_index=group.index,
            step=group.name,
            rounds=None if group.of_round is None else len(group.rounds),
            iops=group.iops,
            bytes_per_s=group.bytes_per_s,
            seconds=group.seconds,
            phases=group.phases,
            course=of_runs.courses.get((run_id, group.name)),
            cov=of_runs.variation.get((run_id, group.name)),
        )
        setting = setting_of(group, plan, hint, load, others, run.memory_bytes)
        promise = promises.get((run_id, group.index))
        names = _like(group, load)
        setting = replace(setting, is_like_bucket=bool(names))
        known = (*counted_otherwise(group, load), *_named(names if promise is None else ()))
        known += of_runs.doubts[run_id, group.name]
        if plan is None:
            known += _no_rate(group)
        verdicts.append(verdict(measured, setting, promise, _doubts(group, plan), known))
    return with_other_disk(run, groups, loads, plan, hint, verdicts)


def _doubts(group: StepGroup, plan: Plan | None) -> list[Warning]:
    """The warnings of all rounds; for an imported step also those that follow from fio's JSON."""
    doubts = [warning for result in group.results for warning in result.warnings]
    if plan is not None:
        return doubts
    rows = group.rows
    return doubts + [
        doubt
        for evidence in group.kept
        if evidence.output is not None
        for doubt in step_warnings(evidence.step, rows, evidence.output, HostFacts(), None)
        if doubt.code not in {warning.code for warning in doubts}
    ]


def _like(group: StepGroup, load: Load | None) -> tuple[str, ...]:
    """The disks whose credit bucket resembles the one that ran out: a bucket of bytes where blocks
    are large."""
    course = group.phases
    if course is None or not course.cliffs:
        return ()
    fall = course.cliffs[0]
    figures = (fall.before, fall.after, fall.credits)
    if course.figure == "bytes_per_s":
        return like_bytes(*figures)
    block = load.block_bytes if load is not None else 0
    if block < _SHOWN_AS_BYTES:
        return like(*figures)
    return like(*figures) or like_bytes(*(value * block for value in figures))


def _named(names: Sequence[str]) -> tuple[Reason, ...]:
    """A reason that names the disks whose cliff resembles that of an unnamed disk."""
    if not names:
        return ()
    return (
        LOOKS_LIKE.reason(
            f"it fell as {' or '.join(names)} does when its credit is used up",
            advice=f"results show --as-disk {names[0]} compares it with that disk",
        ),
    )


def _no_rate(group: StepGroup) -> tuple[Reason, ...]:
    """A reason for an imported step whose logs contain latencies only."""
    phases = group.phases.phases if group.phases else ()
    rates = [
        (group.iops, group.bytes_per_s),
        *((phase.iops, phase.bytes_per_s) for phase in phases),
    ]
    if any(rate is not None for pair in rates for rate in pair):
        return ()
    return (
        NO_RATE.reason(
            "no rate is known: the evidence has latencies only",
        ),
    )
