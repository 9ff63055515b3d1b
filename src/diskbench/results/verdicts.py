"""Verdicts on measured steps, from rows, evidence, plan and phases.

Computed on each read, like phases, and never stored: improved rules then apply to old runs, too.
Only the figure and the trust that lists show are copied to the database (`judge_and_keep`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.analysis.headline_step import headline_step
from diskbench.analysis.stretches import Measured, StepPromise
from diskbench.analysis.verdict import verdict
from diskbench.errors import StoreUnavailable
from diskbench.fio.warnings import step_warnings
from diskbench.model.doubts import LOOKS_LIKE, NO_RATE, REQUESTS_MERGED, REQUESTS_SPLIT
from diskbench.model.facts import HostFacts
from diskbench.model.headline import Headline, ListedStep
from diskbench.plan.as_disk import Hint, hint_of
from diskbench.plan.recognise import like, like_bytes
from diskbench.results.expectations import promises_of
from diskbench.results.other_disk import with_other_disk
from diskbench.results.over_runs import over_runs
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.step_groups import StepGroup, groups_of
from diskbench.results.step_setting import setting_of
from diskbench.store.headlines import keep_headlines
from diskbench.store.rows import find_plan, load_results
from diskbench.units import KIB, format_bytes

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.catalog.books import Books
    from diskbench.model.doubts import Reason
    from diskbench.model.result import StepResult, Warning  # noqa: A004 - the field's word
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.model.verdict import Verdict
    from diskbench.ports import EvidenceStore
    from diskbench.results.over_runs import OverRuns
    from diskbench.results.run_evidence import ReadRun

_SHOWN_AS_BYTES = 64 * KIB
ALIKE = 0.05
"""Largest share by which the counts of device and fio may differ (MR-12)."""


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
    plans = {} if plan is None else {ordered[0].trial_id: plan}
    read = EvidenceOfRuns(lambda _: evidence).read(ordered, plans, with_audits=False)
    verdicts, _ = judge_and_keep(database, ordered, results, plan, read, books, hint=hint)
    return verdicts


def judge_and_keep(
    database: Engine,
    runs: Sequence[Run],
    results: Mapping[str, Sequence[StepResult]],
    plan: Plan | None,
    read: Mapping[str, ReadRun],
    books: Books,
    *,
    hint: Hint | None,
) -> tuple[tuple[Verdict, ...], Mapping[tuple[str, int], StepPromise]]:
    """As `judge`, by the hint in the labels of the runs where the user gives none, whose headlines
    are then kept for lists."""
    named = hint or hint_of(runs[0].labels or {})
    verdicts, promises = judge(runs, results, plan, read, books, hint=named)
    if hint is None:
        _keep_headlines(database, results, verdicts)
    return verdicts, promises


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
        steps = results.get(run.run_id, ())
        groups = groups_of(steps, said.steps, said.phases, plan, run.provider)
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
    verdicts = []
    for group in groups:
        others = [other for other in groups if other is not group]
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
        setting = setting_of(group, plan, hint, others, run.memory_bytes)
        promise = promises.get((run_id, group.index))
        names = _like(group)
        setting = replace(setting, is_like_bucket=bool(names))
        known = (*counted_otherwise(group), *_named(names if promise is None else ()))
        known += of_runs.doubts[run_id, group.name]
        if plan is None:
            known += _no_rate(group)
        verdicts.append(verdict(measured, setting, promise, _doubts(group, plan), known))
    return with_other_disk(run, groups, plan, hint, verdicts)


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


def _like(group: StepGroup) -> tuple[str, ...]:
    """The disks whose credit bucket resembles the one that ran out: a bucket of bytes where blocks
    are large."""
    course = group.phases
    if course is None or not course.cliffs:
        return ()
    fall = course.cliffs[0]
    figures = (fall.before, fall.after, fall.credits)
    if course.figure == "bytes_per_s":
        return like_bytes(*figures)
    block = group.load.block_bytes if group.load is not None else 0
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
    return (NO_RATE.reason("no rate is known: the evidence has latencies only"),)


def counted_otherwise(group: StepGroup) -> tuple[Reason, ...]:
    """A reason where the device's count of I/Os differs from fio's by more than 5 %. Nothing for
    buffered I/O, without samples, or where the device's bytes differ from fio's, too.

    The kernel splits blocks that are larger than its or the driver's largest request, and may merge
    small sequential ones. Both change the number of I/Os that a cloud counts, but no figure of
    fio's (MR-12)."""
    load = group.load
    if load is None or not load.direct:
        return ()
    ios = device = moved = device_bytes = 0
    by_index = {evidence.step.index: evidence.samples for evidence in group.kept}
    for row in (row for rows in group.rounds for row in rows):
        samples = by_index.get(row.step_index)
        if samples is None or row.direction not in ("read", "write"):
            return ()
        if row.ios is None or row.bytes is None:
            return ()
        read = row.direction == "read"
        count = samples.device_read_ios if read else samples.device_write_ios
        size = samples.device_read_bytes if read else samples.device_write_bytes
        if count is None or size is None:
            return ()
        ios, moved = ios + row.ios, moved + row.bytes
        device, device_bytes = device + count, device_bytes + size
    if not ios or not moved or not device or abs(device_bytes / moved - 1) > ALIKE:
        return ()
    per_io = device / ios
    if abs(per_io - 1) <= ALIKE:
        return ()
    doubt, how = (REQUESTS_SPLIT, "split") if per_io > 1 else (REQUESTS_MERGED, "merged")
    return (
        doubt.reason(
            f"blocks of {format_bytes(load.block_bytes)} were {how} into requests of "
            f"{format_bytes(round(device_bytes / device))}: the device counted {per_io:.2g} I/Os a "
            "block, and so may the cloud",
        ),
    )


def _keep_headlines(
    database: Engine, results: Mapping[str, Sequence[StepResult]], verdicts: Sequence[Verdict]
) -> None:
    """Keep the headlines of the runs that `verdicts` judge; `results` are their steps. A database
    that cannot be written to is left as it is: a headline is only a copy."""
    of_runs: dict[str, dict[str, Verdict]] = {}
    for judged in verdicts:
        of_runs.setdefault(judged.run_id, {})[judged.step] = judged
    headlines = {}
    for run_id, by_step in of_runs.items():
        chosen = headline_step(
            [_headline_load(each, results.get(run_id, ())) for each in by_step.values()]
        )
        if chosen is not None:
            judged = by_step[chosen.step]
            kind, trust = judged.stands_for.kind, judged.trust
            figures = (chosen.iops, chosen.bytes_per_s)
            headlines[run_id] = Headline(chosen.step, *figures, kind, trust)
    with contextlib.suppress(StoreUnavailable):
        keep_headlines(database, headlines)


def _headline_load(verdict: Verdict, results: Sequence[StepResult]) -> ListedStep:
    """The load of a judged step, from the rows of its rounds, with the figure of its verdict."""
    rows = [
        row
        for result in results
        if result.step == verdict.step
        for row in result.measurements
        if row.scope == "step"
    ]
    stands = verdict.stands_for
    first = rows[0] if rows else None
    return ListedStep(
        step=verdict.step,
        is_random=first is not None and (first.rw or "").startswith("rand"),
        block_bytes=first.block_bytes if first is not None else None,
        iops=stands.iops,
        bytes_per_s=stands.bytes_per_s,
    )
