"""Which disks of the catalogue a stored run behaves as, and whether it behaves as another than the
one it is said to be."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy.engine import Engine

from diskbench.analysis.figure import Figure, figure_of, middle_at, of_one_level
from diskbench.analysis.run_course import joint_courses
from diskbench.analysis.setting import Stretch, device_rate
from diskbench.analysis.shown import shown, verdicts_by_step
from diskbench.analysis.trust import in_order, trust
from diskbench.analysis.verdict import sentence
from diskbench.catalog.books import Books
from diskbench.catalog.expect import Stage
from diskbench.catalog.machine import machine_of
from diskbench.catalog.path import Path
from diskbench.catalog.shipped import clouds
from diskbench.model.doubts import ABOVE_PROMISE, BELOW_PROMISE, OTHER_DISK, PAGE_CACHE, Reason
from diskbench.model.run import Run
from diskbench.model.spec import EMULATED_PROVIDERS, Plan
from diskbench.model.verdict import Limiter, Verdict
from diskbench.plan.identify import Level, LikelyDisk, identify
from diskbench.plan.limit_path import Hint, hint_of, named_disk
from diskbench.ports import EvidenceStore
from diskbench.results.expectations import RunsOf
from diskbench.results.run_evidence import phases_of, read_steps
from diskbench.results.step_case import setting_of
from diskbench.results.step_groups import StepGroup, groups_of
from diskbench.store.query import find_runs
from diskbench.store.rows import find_plan
from diskbench.store.step_rows import load_results
from diskbench.store.where import Filter


def identified(
    database: Engine, evidence: EvidenceStore, run: Run, *, cloud: str | None, books: Books
) -> tuple[tuple[Level, ...], tuple[LikelyDisk, ...]]:
    """Return the levels that characterise the disk of a run, from all runs of its trial, and the
    disks that fit them, the best first. The day of the run chooses the versions of the catalogue,
    its machine the limits that hold for every disk. Raises UnknownName or EvidenceDamaged where its
    evidence is gone or damaged."""
    plan = find_plan(database, run.trial_id)
    runs = find_runs(database, [Filter("trial_id", "=", run.trial_id)])
    ordered = sorted(runs, key=lambda of: of.run_index) or [run]
    results = load_results(database, *(of.run_id for of in ordered))
    runs_of = []
    for of in ordered:
        phases = phases_of(evidence, of.run_id, plan, number=of.number)
        steps = read_steps(evidence, of.run_id)
        runs_of.append((of, groups_of(results[of.run_id], steps, phases, plan, of.provider)))
    levels = levels_of(runs_of, plan)
    rental = plan.rental if plan is not None else None
    has_fill = plan is not None and any(step.role == "fill" for step in plan.steps)
    # Made for this run, so that its buckets were full.
    is_fresh = rental is not None and (rental.holds_credit or not has_fill)
    hint = hint_of(run.labels or {})
    name, of_cloud = hint.as_machine or run.instance_type, cloud or run.cloud or run.disk_cloud
    machine = Path()
    if name and of_cloud in clouds():
        machine = machine_of(books, of_cloud, name, run.disk_type or "")
    fits = identify(
        levels,
        cloud=cloud,
        day=hint.measured_on or (run.measured_at or "")[:10] or None,
        time_scale=rental.spec.time_scale if rental is not None else 1.0,
        is_fresh=is_fresh and ordered[0].number == 1,
        books=books,
        machine=machine,
    )
    return levels, fits


def levels_of(runs_of: RunsOf, plan: Plan | None) -> tuple[Level, ...]:
    """Return the levels of the runs of a trial: of several runs one for each step, that of its
    figure, with its fall where that lies between two runs."""
    if len(runs_of) == 1:
        [(run, groups)] = runs_of
        pauses = _idle_before(groups)
        return tuple(
            replace(level, idle_s=idle_s)
            for group, idle_s in zip(groups, pauses, strict=True)
            if group.is_judged and (level := level_of(group, plan, run)) is not None
        )
    series: dict[str, list[tuple[int, float]]] = {}
    found: dict[tuple[str, int], Level] = {}
    for number, (run, groups) in enumerate(runs_of):
        for group in groups:
            level = level_of(group, plan, run) if group.is_judged else None
            if level is not None:
                found[group.name, number] = level
                series.setdefault(group.name, []).append((number, level.iops))
    courses = joint_courses(series)
    falls = [
        (series[name][stretch.start][0], name)
        for name, course in courses.items()
        for stretch in course
        if stretch.fell_from is not None
    ]
    levels = []
    for name, values in series.items():
        course = courses[name]
        chosen = of_one_level([stretch.kind for stretch in course]) or range(len(values))
        at = chosen[middle_at([values[of][1] for of in chosen])]
        level = found[name, values[at][0]]
        fall = next((stretch for stretch in course if stretch.fell_from), None)
        if fall is not None and level.fell_from is None and name == min(falls)[1]:
            last = values[fall.start - 1][0]
            earlier = _stages(runs_of[:last])
            slack_s = sum(group.seconds for group in runs_of[last][1])
            times_s = (time_s for stage in earlier for time_s in (stage.idle_s, stage.seconds))
            after_s = sum(times_s) + slack_s
            level = replace(
                level, fell_from=fall.fell_from, after_s=after_s, earlier=earlier, slack_s=slack_s
            )
        levels.append(replace(level, mean_iops=None))
    return tuple(levels)


def _stages(runs_of: RunsOf) -> tuple[Stage, ...]:
    """Return what was done in these runs, with the pauses between their steps."""
    groups = [group for _, of_run in runs_of for group in of_run]
    return tuple(
        Stage(group.load if group.iops else None, group.seconds, reached=group.iops, idle_s=idle_s)
        for group, idle_s in zip(groups, _idle_before(groups), strict=True)
    )


def _idle_before(groups: Sequence[StepGroup]) -> tuple[float, ...]:
    """Return the seconds between the end of the step before and the beginning of each step; 0 where
    it is not known. Steps of a run that all have its time follow each other."""
    pauses = []
    over: datetime | None = None
    for group in groups:
        began = group.results[0].started_at if group.results else None
        at = datetime.fromisoformat(began) if began else over
        pause = (at - over).total_seconds() if at is not None and over is not None else 0.0
        pauses.append(max(0.0, pause))
        if at is not None:
            over = max(at, over or at) + timedelta(seconds=group.seconds)
    return tuple(pauses)


def level_of(group: StepGroup, plan: Plan | None, run: Run) -> Level | None:
    """Return the level of a step's figure, less what was not written yet; None without a figure or
    a load, or for a load that asks for less than the disk can do."""
    figure = figure_of([Figure(group.iops, group.bytes_per_s)], group.phases)
    load = group.load
    if figure is None or load is None or load.max_per_s is not None:
        return None
    iops = figure.iops
    if iops is None:
        iops = (figure.bytes_per_s or 0.0) / load.block_bytes
    setting = setting_of(group, plan, hint_of(run.labels or {}), (), run.memory_bytes)
    reached = device_rate(Stretch(iops, None), setting) or 0.0
    if reached <= 0:
        return None
    fell = None
    if group.phases is not None and figure.level is not None and group.phases.figure == "iops":
        start_s = figure.level.start_s
        fell = next((cliff for cliff in group.phases.cliffs if cliff.at_s == start_s), None)
    level = Level(group.name, load, reached, mean_iops=group.iops, seconds=group.seconds or None)
    return level if fell is None else replace(level, fell_from=fell.before, after_s=fell.at_s)


def with_other_disk(
    runs_of: RunsOf, plan: Plan | None, hint: Hint, verdicts: Sequence[Verdict]
) -> list[Verdict]:
    """Return the verdicts of a trial, all with the doubt `other-disk` where nothing that its disk
    promises explains one of its steps, and another disk of the same cloud explains the figures of
    all. It is no reason then that they are off their promise, or that memory might explain one."""
    cloud, disk_type = _named_disk(plan, hint)
    shown_of = {step: shown(of) for step, of in verdicts_by_step(verdicts).items()}
    if not cloud or not any(map(_is_unexplained, shown_of.values())):
        return list(verdicts)
    levels, day = [], hint.measured_on
    for run, groups in runs_of:
        day = day or (run.measured_at or "")[:10] or None
        for group in groups:
            is_shown = group.name in shown_of and shown_of[group.name].run_id == run.run_id
            if is_shown and (level := level_of(group, plan, run)) is not None:
                levels.append(level)
    # A disk whose figures are bought would explain any level by what it was bought with.
    likely = identify(levels, cloud=cloud, day=day, fits_bought=False)
    fits = [fit for fit in likely if not fit.misses]
    named = f"{cloud}:{disk_type}:"
    if len(levels) < _FEWEST or not fits or any(fit.disk.startswith(named) for fit in fits):
        return list(verdicts)
    best = fits[0]
    tier = f" ({best.tier})" if best.tier else ""
    reason = OTHER_DISK.reason(
        f"it behaves as {best.disk}{tier} and not as {disk_type}: {'; '.join(best.fits)}"
    )
    return [_doubted(verdict, reason) for verdict in verdicts]


_FEWEST = 2
"""Figures: one alone is explained by some disk of any cloud."""


def _is_unexplained(verdict: Verdict) -> bool:
    main = verdict.stands_for
    by_memory = main.limiter.name == "page-cache" and verdict.trust != "no"
    return main.promised is not None and (main.limiter.is_unexplained or by_memory)


def _named_disk(plan: Plan | None, hint: Hint) -> tuple[str, str]:
    """The cloud and the type of the disk, by the plan or the hint; empty if neither names one, and
    for a lab disk, which is always what it was made as."""
    rental = plan.rental if plan is not None else None
    if rental is not None and rental.disk is not None:
        emulated = rental.scope.provider in EMULATED_PROVIDERS
        return ("", "") if emulated else (rental.catalogue, rental.disk.type)
    if hint.as_disk is None:
        return "", ""
    named = named_disk(hint.as_disk)
    return named.cloud, named.disk_type


def _doubted(verdict: Verdict, reason: Reason) -> Verdict:
    gone = frozenset({ABOVE_PROMISE.code, BELOW_PROMISE.code})
    stretches = verdict.stretches
    if _is_unexplained(verdict) and verdict.stands_for.limiter.name == "page-cache":
        gone = gone | {PAGE_CACHE.code}
        behaves = reason.message.partition(" and not ")[0].removeprefix("it behaves ")
        limit = Limiter(name="unknown", evidence=(f"as {behaves}",))
        stretches = tuple(judged.model_copy(update={"limiter": limit}) for judged in stretches)
    ordered = in_order((reason, *(old for old in verdict.reasons if old.code not in gone)))
    update = {"stretches": stretches, "reasons": ordered, "trust": trust(ordered)}
    judged = verdict.model_copy(update=update)
    return judged.model_copy(update={"sentence": sentence(judged)})
