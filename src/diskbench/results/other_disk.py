"""Whether a disk behaves as another of the catalogue than the one it is said to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.analysis.trust import in_order, trust
from diskbench.analysis.verdict import sentence
from diskbench.model.doubts import OTHER_DISK
from diskbench.plan.identify import identify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.doubts import Reason
    from diskbench.model.verdict import Verdict
    from diskbench.plan.identify import Level

_UNEXPLAINED = frozenset({"unknown", "fixed-limit"})
_FEWEST = 2


def with_other_disk(
    verdicts: Sequence[Verdict],
    levels: Sequence[Level],
    *,
    cloud: str,
    disk_type: str,
    day: str | None,
) -> tuple[Verdict, ...]:
    """Return the verdicts of a run, with the doubt `other-disk` where at least two of its steps
    are explained by nothing that its disk promises, and another disk of the same cloud explains
    every level of the run."""
    unexplained = {
        verdict.step
        for verdict in verdicts
        if verdict.stands_for.promised is not None
        and verdict.stands_for.limiter.name in _UNEXPLAINED
    }
    if len(unexplained) < _FEWEST:
        return tuple(verdicts)
    # A disk whose figures are bought would explain any level by what it was bought with.
    likely = identify(levels, cloud=cloud, day=day, fits_bought=False)
    fits = [fit for fit in likely if not fit.misses]
    named = f"{cloud}:{disk_type}:"
    if not fits or any(fit.disk.startswith(named) for fit in fits):
        return tuple(verdicts)
    best = fits[0]
    tier = f" ({best.tier})" if best.tier else ""
    reason = OTHER_DISK.reason(
        f"it behaves as {best.disk}{tier} and not as {disk_type}: {'; '.join(best.fits)}"
    )
    return tuple(
        _doubted(verdict, reason) if verdict.step in unexplained else verdict
        for verdict in verdicts
    )


def _doubted(verdict: Verdict, reason: Reason) -> Verdict:
    ordered = in_order((reason, *verdict.reasons))
    judged = verdict.model_copy(update={"reasons": ordered, "trust": trust(ordered)})
    return judged.model_copy(update={"sentence": sentence(judged)})
