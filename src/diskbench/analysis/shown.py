"""Which of several runs of a step is shown for all: the one that its figure is of.

Every surface takes the words about a step (its limit, what shows it, its notes) from that run, so
that none shows another run's. Doubts are of all runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from diskbench.analysis.believe import in_order, worst
from diskbench.analysis.figure import middle_at, of_one_level

if TYPE_CHECKING:
    from diskbench.model.verdict import Believe, Judged, Reason, Verdict


def rate_of(one: Judged) -> float:
    """By what stretches are put in order: I/Os a second, bytes where there are no others."""
    return one.iops if one.iops is not None else one.bytes_per_s or 0.0


def verdicts_by_step(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """The verdicts of all runs on each step, in the order of the steps."""
    found: dict[str, list[Verdict]] = {}
    for one in verdicts:
        found.setdefault(one.step, []).append(one)
    return found


def at_one_level(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Of the runs of a step those on the baseline where some are, else all: no figure of several
    runs spans a cliff."""
    return [verdicts[at] for at in of_one_level([one.stands_for.kind for one in verdicts])]


def shown(verdicts: Sequence[Verdict]) -> Verdict:
    """Of the runs of a step on one machine the one whose figure is the step's. Raises ValueError
    without any."""
    kept = at_one_level(verdicts)
    return kept[middle_at([rate_of(one.stands_for) for one in kept])]


def shown_stretch(stretches: Sequence[Judged]) -> Judged:
    """Of stretches at one level, one of each run, the one in the middle."""
    return stretches[middle_at([rate_of(one) for one in stretches])]


def believe_of(verdicts: Iterable[Verdict]) -> Believe:
    """The worst of the runs."""
    return worst(one.believe for one in verdicts)


def reasons_over(verdicts: Sequence[Verdict]) -> tuple[Reason, ...]:
    """What stands against a step, or is to be known of it: doubts of any run, one of each code, and
    the notes of the run that is shown. Notes of others may contradict it: the requests of one run
    may be split where those of another are merged."""
    first = shown(verdicts)
    found = {reason.code: reason for reason in first.reasons}
    for one in verdicts:
        for reason in one.reasons:
            if reason.weight != "note":
                known = found.get(reason.code)
                if known is None or known.weight == "note":
                    found[reason.code] = reason
    return in_order(found.values())
