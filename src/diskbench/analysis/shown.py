"""Which of several runs of a step is shown for all: the one that gives the step's figure.

Every output takes the text about a step (its limit, evidence, notes) from that run, so that all
show the same run. Doubts are collected from all runs.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from diskbench.analysis.figure import middle_at, of_one_level
from diskbench.analysis.trust import in_order, over_runs
from diskbench.model.doubts import BURST_ONLY, WEIGHTS, Reason, Weight, doubt_of
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.verdict import Judged, LimiterName, Trust, Verdict


def rate_of(stretch: Judged) -> float:
    """Return the value by which stretches are ordered: I/Os per second, else bytes per second."""
    return stretch.iops if stretch.iops is not None else stretch.bytes_per_s or 0.0


def verdicts_by_step(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Return the verdicts of all runs by step, in the order of the steps."""
    by_step: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_step.setdefault(verdict.step, []).append(verdict)
    return by_step


def at_one_level(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the runs of a step at the baseline if there are any, else all: no figure of several
    runs spans a cliff."""
    return [verdicts[at] for at in of_one_level([verdict.stands_for.kind for verdict in verdicts])]


def shown(verdicts: Sequence[Verdict]) -> Verdict:
    """Return, of the runs of a step on one machine, the one that gives the step's figure. Raises
    ValueError without any."""
    of_level = at_one_level(verdicts)
    return of_level[middle_at([rate_of(verdict.stands_for) for verdict in of_level])]


def shown_stretch(stretches: Sequence[Judged]) -> Judged:
    """Return the middle one of stretches at one level, one from each run."""
    return stretches[middle_at([rate_of(stretch) for stretch in stretches])]


def limit_of(stretches: Sequence[Judged]) -> LimiterName:
    """Return the limit that most of the runs have; of equally many that of the shown run."""
    count = Counter(stretch.limiter.name for stretch in stretches)
    own = shown_stretch(stretches).limiter.name
    return max(count, key=lambda name: (count[name], name == own))


def trust_of(verdicts: Sequence[Verdict]) -> Trust:
    """Return the judgement over the runs at the level of the step's figure: one odd run of several
    does not decide."""
    return over_runs([verdict.trust for verdict in at_one_level(verdicts)])


def reasons_over(verdicts: Sequence[Verdict]) -> tuple[Reason, ...]:
    """Return the reasons of a step: the doubts of any run, one per code, and the notes of the shown
    run. Notes of other runs may contradict it: one run's requests may be split and another's
    merged. A doubt that is heavier than the judgement over the runs of its level is a note."""
    of_kind: dict[str | None, list[Verdict]] = {}
    for verdict in verdicts:
        of_kind.setdefault(verdict.stands_for.kind, []).append(verdict)
    heaviest = {kind: WEIGHTS.index(_WEIGHT_OF[trust_of(of)]) for kind, of in of_kind.items()}
    by_code = {reason.code: reason for reason in shown(verdicts).reasons}
    serious = {r.code: None for verdict in verdicts for r in verdict.reasons if r.weight != "note"}
    for code in serious:
        at, reason = doubted_run(verdicts, code)
        if WEIGHTS.index(reason.weight) < heaviest[verdicts[at].stands_for.kind]:
            reason = reason.model_copy(update={"weight": "note", "advice": ""})
        by_code[code] = reason
    return in_order(by_code.values())


_WEIGHT_OF: dict[Trust, Weight] = {"no": "no", "with care": "with care", "yes": "note"}


def doubted_run(verdicts: Sequence[Verdict], code: str) -> tuple[int, Reason]:
    """Return, of the runs of a step that a doubt is about, the index of the one that is shown, and
    its reason. A note counts only where no run has a heavier one. Raises ValueError if none has
    it."""
    reasons = [(at, r) for at, one in enumerate(verdicts) for r in one.reasons if r.code == code]
    heavier = [(at, reason) for at, reason in reasons if reason.weight != "note"] or reasons
    by_run = {verdicts[at].run_id: (at, reason) for at, reason in reversed(heavier)}
    run_id = shown([verdicts[at] for at, _ in heavier]).run_id
    return by_run[run_id]


def verdict_doubts(of_step: Sequence[Verdict]) -> tuple[Reason, ...]:
    """Return the doubts, by code, that only the verdicts on a step's runs found and no warning
    states. `burst-only` is left out if some run shows the baseline."""
    kinds = {stretch.kind for verdict in of_step for stretch in verdict.stretches}
    doubts = [r for r in reasons_over(of_step) if doubt_of(r.code).shown == "verdict"]
    hidden = BURST_ONLY.code if "baseline" in kinds else None
    return tuple(sorted((r for r in doubts if r.code != hidden), key=lambda reason: reason.code))


def verdict_warnings(verdicts: Sequence[Verdict]) -> tuple[Warning, ...]:
    """Return `verdict_doubts` of all steps as warnings, for outputs that list all doubts."""
    return tuple(
        Warning(code=reason.code, message=reason.message, advice=reason.advice, step=step)
        for step, of_step in verdicts_by_step(verdicts).items()
        for reason in verdict_doubts(of_step)
    )
