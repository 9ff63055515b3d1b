"""Verdicts on measured steps, from rows, evidence, plan and phases. Computed on each read, and
never stored: improved rules then apply to old runs, too. Only the figure and the trust that lists
show are copied to the database (`judge_and_keep`)."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean, stdev

from sqlalchemy.engine import Engine

from diskbench.analysis.drift import LEAST_HISTORY
from diskbench.analysis.run_course import SeriesPart, joint_courses
from diskbench.analysis.setting import FEWEST_FLAT, Setting, shown_rate
from diskbench.analysis.shown import shown, verdicts_by_step
from diskbench.analysis.sla import FOUND, Sla, slas_of
from diskbench.analysis.stretches import Measured, StepPromise
from diskbench.analysis.time_share import share_of_runs
from diskbench.analysis.trust import headline_step
from diskbench.analysis.unsteady import two_modes_of_runs
from diskbench.analysis.verdict import two_rates, verdict
from diskbench.catalog.books import Books
from diskbench.errors import StoreUnavailable
from diskbench.fio.audit import FAR_APART, least_variation
from diskbench.model.doubts import RUNS_DISAGREE, TWO_MODES, Reason
from diskbench.model.expectation import Load
from diskbench.model.result import StepResult
from diskbench.model.run import Headline, Run
from diskbench.model.spec import Plan
from diskbench.model.verdict import Verdict
from diskbench.parallel import grouped
from diskbench.plan.limit_path import Hint, hint_of
from diskbench.plan.published import verdict_on_step
from diskbench.ports import EvidenceStore
from diskbench.results.expectations import RunsOf, promises_of
from diskbench.results.identified import with_other_disk
from diskbench.results.run_evidence import EvidenceOfRuns, ReadRun
from diskbench.results.step_case import case_of
from diskbench.results.step_groups import StepGroup, groups_of
from diskbench.store.figures import keep_headlines
from diskbench.store.rows import find_plan
from diskbench.store.step_rows import load_results


def trial_verdicts(
    database: Engine,
    evidence: EvidenceStore,
    runs: Sequence[Run],
    *,
    books: Books,
    results: Mapping[str, Sequence[StepResult]] | None = None,
) -> tuple[Verdict, ...]:
    """The verdicts on each measured step of all runs of one trial (rows), in order. A run whose
    evidence is gone is judged by its rows alone. `results` are their steps (None: they are read).
    Raises InvalidValue for a label that names no disk."""
    ordered = sorted(runs, key=lambda run: run.run_index)
    plan = find_plan(database, ordered[0].trial_id)
    if results is None:
        results = load_results(database, *(run.run_id for run in ordered))
    plans = {} if plan is None else {ordered[0].trial_id: plan}
    read = EvidenceOfRuns(lambda _: evidence).read(ordered, plans, with_audits=False)
    slas = slas_of(plan.search if plan else None, results)
    verdicts, _ = judge_and_keep(database, ordered, results, plan, read, books, slas, hint=None)
    return verdicts


def judge_and_keep(
    database: Engine,
    runs: Sequence[Run],
    results: Mapping[str, Sequence[StepResult]],
    plan: Plan | None,
    read: Mapping[str, ReadRun],
    books: Books,
    slas: Mapping[str, Sla],
    *,
    hint: Hint | None,
) -> tuple[tuple[Verdict, ...], Mapping[tuple[str, int], StepPromise]]:
    """As `judge`, by the hint in the labels of the runs where the user gives none, whose headlines
    (of a search what it found: `slas`) are then kept for lists."""
    named = hint or hint_of(runs[0].labels or {})
    verdicts, promises = judge(runs, results, plan, read, books, hint=named)
    if hint is None:
        # A headline is only a copy: a database that cannot be written to is left as it is.
        with contextlib.suppress(StoreUnavailable):
            keep_headlines(database, _headlines(results, verdicts, slas))
    return verdicts, promises


OverRuns = tuple[SeriesPart | None, float | None, tuple[Reason, ...]]
"""Of one run of a step: its level among the runs; how much five or more runs at that level vary, as
a fraction of their mean; and the doubts of runs that disagree."""


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
        evidence, steps = read[run.run_id], results.get(run.run_id, ())
        groups = groups_of(steps, evidence.steps, evidence.phases, plan, run.provider)
        runs_of.append((run, groups))
    promises = promises_of(runs_of, plan, hint, books)
    if any(read[run.run_id].figures for run in runs):
        return tuple(_of_published(runs_of, read, books)), promises
    runs_of = [(run, [group for group in groups if group.is_judged]) for run, groups in runs_of]
    of_runs = _over_runs(runs_of)
    verdicts: list[Verdict] = []
    for run, groups in runs_of:
        verdicts += _of_run(run, groups, plan, hint or Hint(), of_runs, promises)
    designed = next((promise.designed for promise in promises.values()), None)
    of_all = with_other_disk(runs_of, plan, hint or Hint(), verdicts)
    # Steps too short to have a share of their seconds have one of their runs.
    shares = {
        step: share_of_runs([one.stands_for.ratio or 0.0 for one in of], designed)
        for step, of in verdicts_by_step(of_all).items()
        if asks_all(shown(of)) and all(one.kept is None for one in of)
    }
    with_shares = (
        one if (share := shares.get(one.step)) is None else one.model_copy(update={"kept": share})
        for one in of_all
    )
    return tuple(with_shares), promises


def _of_published(runs_of: RunsOf, read: Mapping[str, ReadRun], books: Books) -> Iterator[Verdict]:
    """The verdicts on runs that are the figures of a post, as `diskbench published` has them."""
    for run, groups in runs_of:
        of = read[run.run_id]
        of_step = grouped(of.figures, lambda figure: figure.step)
        for group in groups:
            if figures := of_step.get(group.name):
                found = verdict_on_step(figures, books, of.of_post)
                place = {"run_id": run.run_id, "step_index": group.index}
                yield found.model_copy(update=place)


_LESS = frozenset({"latency", "offered", "queue-depth"})


def asks_all(verdict: Verdict) -> bool:
    """Whether a step asked for all that is promised."""
    main = verdict.stands_for
    return main.promised is not None and not {main.promised.limited_by, main.limiter.name} & _LESS


def _of_run(
    run: Run,
    groups: Sequence[StepGroup],
    plan: Plan | None,
    hint: Hint,
    of_runs: Mapping[tuple[str, str], OverRuns],
    promises: Mapping[tuple[str, int], StepPromise],
) -> list[Verdict]:
    run_id = run.run_id
    verdicts = []
    for group in groups:
        others = [other for other in groups if other is not group]
        course, variation, disagree = of_runs[run_id, group.name]
        measured = Measured(
            run_id=run_id,
            step_index=group.index,
            step=group.name,
            rounds=None if group.of_round is None else len(group.rounds),
            iops=group.iops,
            bytes_per_s=group.bytes_per_s,
            seconds=group.seconds,
            phases=group.phases,
            course=course,
            cov=variation,
        )
        promise = promises.get((run_id, group.index))
        setting, doubts, reasons = case_of(
            group, plan, hint, others, run.memory_bytes, is_promised=promise is not None
        )
        verdicts.append(verdict(measured, setting, promise, doubts, (*reasons, *disagree)))
    return verdicts


def _over_runs(
    runs_of: Sequence[tuple[Run, Sequence[StepGroup]]],
) -> dict[tuple[str, str], OverRuns]:
    """Return what the runs of one trial, in order, say together, by run and step."""
    series: dict[str, list[tuple[int, float]]] = {}
    for number, (_, groups) in enumerate(runs_of):
        for group in groups:
            if group.iops:
                series.setdefault(group.name, []).append((number, group.iops))
    courses_of = joint_courses(series)
    levels_of: dict[tuple[str, str], tuple[SeriesPart | None, float | None]] = {}
    for name, values_of in series.items():
        levels = courses_of[name] or (None,) * len(values_of)
        leveled = list(zip(values_of, levels, strict=True))
        vary = {
            level: stdev(values) / fmean(values)
            for level, of in grouped(leveled, lambda pair: pair[1]).items()
            if len(values := [value for (_, value), _ in of]) >= FEWEST_FLAT
        }
        for (number, _), level in leveled:
            levels_of[runs_of[number][0].run_id, name] = level, vary.get(level)

    @cache
    def disagree(name: str, load: Load | None) -> tuple[Reason, ...]:
        return _disagree([value for _, value in series.get(name, ())], load)

    found: dict[tuple[str, str], OverRuns] = {}
    for run, groups in runs_of:
        for group in groups:
            key = run.run_id, group.name
            course, variation = levels_of.get(key, (None, None))
            fell = course is not None and course.kind != "level"
            found[key] = course, variation, () if fell else disagree(group.name, group.load)
    return found


_TWICE = 2.0
_FEW = 10
_ODD = 4
"""From so many runs on, one of them may be odd."""


def _disagree(values: Sequence[float], load: Load | None) -> tuple[Reason, ...]:
    """A doubt where the runs of a step have two rates, and go between them, or vary by so much that
    none stands for the rest."""
    if len(values) >= LEAST_HISTORY and (modes := two_modes_of_runs(values)) is not None:
        setting = Setting(load=load)
        words = two_rates(modes, lambda rate: shown_rate(rate, setting), "runs")
        return (TWO_MODES.reason(words),)
    least = least_variation(values)
    if least is None:
        return ()
    if least >= FAR_APART:
        words = f"its runs vary by at least {least:.0%}, which no fall explains"
        return (RUNS_DISAGREE.reason(words, weight="with care"),)
    ordered = sorted(values)
    if len(values) >= _ODD:
        ordered = min(ordered[1:], ordered[:-1], key=lambda kept: kept[-1] / kept[0])
    if len(values) < _FEW and ordered[-1] >= _TWICE * ordered[0]:
        times = ordered[-1] / ordered[0]
        words = f"its runs differ by a factor of {times:.2g}, which no fall explains"
        return (RUNS_DISAGREE.reason(words, weight="with care"),)
    return ()


def _headlines(
    results: Mapping[str, Sequence[StepResult]],
    verdicts: Sequence[Verdict],
    slas: Mapping[str, Sla],
) -> dict[str, Headline]:
    """The headlines of the runs that `verdicts` judge; `results` are their steps. That of a search
    is the rate that it found."""
    headlines = {}
    for run_id, of_run in grouped(verdicts, lambda of: of.run_id).items():
        steps = results.get(run_id, ())
        by_step = {of_step.step: _headline(of_step, steps) for of_step in of_run}
        found = slas.get(run_id)
        if found is not None and found.step in by_step:
            headlines[run_id] = replace(by_step[found.step], step=FOUND)
        elif (chosen := headline_step(by_step.values())) is not None:
            headlines[run_id] = chosen
    return headlines


def _headline(verdict: Verdict, results: Sequence[StepResult]) -> Headline:
    """The figure of a verdict, with the load of its step from the rows of its rounds."""
    of_step = (result for result in results if result.step == verdict.step)
    rows = (row for result in of_step for row in result.measurements if row.scope == "step")
    stands, first = verdict.stands_for, next(rows, None)
    return Headline(
        verdict.step,
        stands.iops,
        stands.bytes_per_s,
        kind=stands.kind,
        trust=verdict.trust,
        is_random=first is not None and (first.rw or "").startswith("rand"),
        block_bytes=first.block_bytes if first is not None else None,
    )
