"""Whether a disk behaves as another of the catalogue than the one it is said to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.analysis.trust import in_order, trust
from diskbench.analysis.verdict import sentence
from diskbench.model.doubts import OTHER_DISK
from diskbench.model.spec import EMULATED_PROVIDERS
from diskbench.plan.limit_path import named_disk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.doubts import Reason
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.model.verdict import Verdict
    from diskbench.plan.limit_path import Hint
    from diskbench.results.step_groups import StepGroup

_UNEXPLAINED = frozenset({"unknown", "fixed-limit"})
_FEWEST = 2


def with_other_disk(
    run: Run,
    groups: Sequence[StepGroup],
    plan: Plan | None,
    hint: Hint,
    verdicts: Sequence[Verdict],
) -> list[Verdict]:
    """Return the verdicts of a run, with the doubt `other-disk` where at least two of its steps
    are explained by nothing that its disk promises, and another disk of the same cloud explains
    every level of the run."""
    cloud, disk_type = _named_disk(plan, hint)
    if not cloud:
        return list(verdicts)
    unexplained = {
        verdict.step
        for verdict in verdicts
        if verdict.stands_for.promised is not None
        and verdict.stands_for.limiter.name in _UNEXPLAINED
    }
    if len(unexplained) < _FEWEST:
        return list(verdicts)
    from diskbench.plan.identify import identify  # at use: few runs come so far
    from diskbench.results.identified import level_of

    levels = [level for group in groups if (level := level_of(group, plan, run)) is not None]
    day = hint.measured_on or (run.measured_at or "")[:10] or None
    # A disk whose figures are bought would explain any level by what it was bought with.
    likely = identify(levels, cloud=cloud, day=day, fits_bought=False)
    fits = [fit for fit in likely if not fit.misses]
    named = f"{cloud}:{disk_type}:"
    if not fits or any(fit.disk.startswith(named) for fit in fits):
        return list(verdicts)
    best = fits[0]
    tier = f" ({best.tier})" if best.tier else ""
    reason = OTHER_DISK.reason(
        f"it behaves as {best.disk}{tier} and not as {disk_type}: {'; '.join(best.fits)}"
    )
    return [
        _doubted(verdict, reason) if verdict.step in unexplained else verdict
        for verdict in verdicts
    ]


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
    ordered = in_order((reason, *verdict.reasons))
    judged = verdict.model_copy(update={"reasons": ordered, "trust": trust(ordered)})
    return judged.model_copy(update={"sentence": sentence(judged)})
