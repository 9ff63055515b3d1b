"""One verdict on a step over several runs and replicates (MR-5, MR-6)."""

from collections.abc import Sequence
from itertools import groupby

from sqlalchemy.engine import Engine

from diskbench.analysis import shown as shown_of
from diskbench.analysis.repeats import Sample, replicated
from diskbench.analysis.shown import shown_stretch
from diskbench.analysis.time_share import share_of_runs
from diskbench.analysis.verdict import figure_words
from diskbench.catalog.books import Books
from diskbench.model.run import Run
from diskbench.model.verdict import Judged, Kept, RunLevel, StepVerdict, Verdict, trust_words
from diskbench.parallel import grouped
from diskbench.ports import EvidenceStore
from diskbench.results.verdicts import trial_verdicts


def step_verdicts(
    database: Engine, evidence: EvidenceStore, runs: Sequence[Run], *, books: Books
) -> tuple[StepVerdict, ...]:
    """The verdict on each step over comparable runs: those of a trial, or of all replicates of one
    cell (rows, as `find_runs` returns them). A trial is one sample, whatever the number of its
    runs, and so are trials that shared a machine."""
    verdicts = [
        verdict
        for of_trial in _by_trial(runs)
        for verdict in trial_verdicts(database, evidence, of_trial, books=books)
    ]
    return over_runs(runs, verdicts)


def over_runs(runs: Sequence[Run], verdicts: Sequence[Verdict]) -> tuple[StepVerdict, ...]:
    """The same as `step_verdicts`, computed from the verdicts on the runs."""
    of_run: dict[str, dict[str, Verdict]] = {}
    for verdict in verdicts:
        of_run.setdefault(verdict.run_id, {})[verdict.step] = verdict
    steps: dict[str, list[list[tuple[Run, Verdict]]]] = {verdict.step: [] for verdict in verdicts}
    for of_trial in _by_trial(runs):
        for step, trials in steps.items():
            judged = [(run, of_run.get(run.run_id, {}).get(step)) for run in of_trial]
            if known := [(run, verdict) for run, verdict in judged if verdict is not None]:
                trials.append(known)
    summaries = [_of_step(step, trials) for step, trials in steps.items()]
    return tuple(summary for summary in summaries if summary is not None)


def _of_step(name: str, trials: Sequence[Sequence[tuple[Run, Verdict]]]) -> StepVerdict | None:
    levels = _levels_over_runs(trials[0]) if len(trials) == 1 else ()
    samples, ratios, all_of = [], [], []
    for trial in trials:
        with_iops = [verdict for _, verdict in trial if verdict.stands_for.iops]
        if not with_iops:
            continue
        main, first = shown_of.shown(with_iops).stands_for, trial[0][0]
        is_rented = not first.imported and first.provider not in {"local", "ssh"}
        machine, trial_id = first.machine(rented=is_rented), first.trial_id
        samples.append(Sample(trial_id, main.iops or 0.0, machine))
        if main.ratio is not None:
            ratios.append(Sample(trial_id, main.ratio, machine))
        all_of += shown_of.at_one_level(with_iops)
    if not samples:
        return None
    beside = replicated(ratios) if len(ratios) == len(samples) else None
    mains = [verdict.stands_for for verdict in all_of]
    named = shown_of.limit_of(mains)
    kinds = {main.kind for main in mains}
    summary = StepVerdict(
        step=name,
        trust=shown_of.trust_of(all_of),
        limiter=shown_stretch([main for main in mains if main.limiter.name == named]).limiter,
        replicated=replicated(samples),
        ratio=beside.median if beside else None,
        interval=beside.interval if beside else None,
        kind=kinds.pop() if len(kinds) == 1 else None,
        levels=levels,
        reasons=shown_of.reasons_over(all_of),
        kept=_kept(all_of, ratios),
    )
    return summary.model_copy(update={"sentence": _summary_of(summary, shown_stretch(mains))})


def _kept(verdicts: Sequence[Verdict], ratios: Sequence[Sample]) -> Kept | None:
    """The share of the trials, in order, that kept their promise; of fewer that of their seconds or
    runs."""
    promised = verdicts[0].stands_for.promised
    designed = promised.designed if promised else None
    of_trials = share_of_runs([sample.value for sample in ratios], designed)
    return of_trials or next((verdict.kept for verdict in verdicts if verdict.kept), None)


def _levels_over_runs(trial: Sequence[tuple[Run, Verdict]]) -> tuple[RunLevel, ...]:
    """The levels over the runs of one trial: consecutive runs of the same kind form one level."""
    if len(trial) < 2:
        return ()
    levels, at = [], 1
    for kind, group in groupby(trial, key=lambda pair: pair[1].stands_for.kind):
        runs = list(group)
        middle = shown_stretch([verdict.stands_for for _, verdict in runs])
        levels.append(
            RunLevel(
                kind=kind or "level",
                first=at,
                last=at + len(runs) - 1,
                iops=middle.iops or 0.0,
                bytes_per_s=middle.bytes_per_s or 0.0,
                started_at=runs[0][0].started_at,
            )
        )
        at += len(runs)
    return tuple(levels)


def _summary_of(step: StepVerdict, middle: Judged) -> str:
    figures = step.replicated
    block = (middle.bytes_per_s or 0.0) / middle.iops if middle.iops else 0.0

    def words(iops: float) -> str:
        return figure_words(iops, iops * block)

    if len(step.levels) > 1:
        measured = ", then ".join(
            f"{words(level.iops)} in {_run_words(level)} ({level.kind})" for level in step.levels
        )
    elif figures.machines > 1:
        span = f"no interval of {figures.machines} machines"
        if figures.interval:
            span = f"{words(figures.interval.low)} to {words(figures.interval.high)}"
        measured = f"{words(figures.median)}, {span}"
    else:
        measured = words(figures.median)
    beside = f", {step.ratio:.0%} of what was promised" if step.ratio is not None else ""
    unknown = step.limiter.name == "unknown"
    by = "limit unknown" if unknown else f"limited by {step.limiter.words()}"
    trust = trust_words(step.trust, step.reasons)
    return f"{step.step}: {measured}{beside}, {by}. Trust: {trust}"


def _run_words(level: RunLevel) -> str:
    return f"run {level.first}" if level.first == level.last else f"runs {level.first}–{level.last}"


def _by_trial(runs: Sequence[Run]) -> list[list[Run]]:
    in_order = sorted(runs, key=lambda run: (run.measured_at or "", run.run_id, run.run_index))
    trials = grouped(in_order, lambda run: run.trial_id)
    return [sorted(trial, key=lambda run: run.run_index) for trial in trials.values()]
