"""The one thing worth doing after a result: a command, with its reason."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.report.lines import Line, WarningGroup
    from diskbench.report.subject import Subject

BURST_ONLY = frozenset({"quick"})
"""Profiles too short to leave a burst (method.md B10): their figures describe burst credit."""
RUNS = 5

_BY_WARNING = (
    ("unwritten", "fill", "reads met blocks that were never written; fill them, then repeat"),
    ("runs-disagree", "sustained", "the runs disagree; see what is left when credit is used up"),
)
"""Warning, profile to run because of it, reason; the first that applies decides."""


@dataclass(frozen=True)
class NextStep:
    """A reason, and the command to type."""

    reason: str
    command: str


def next_step(
    subject: Subject,
    found: Sequence[Line],
    warnings: Sequence[WarningGroup],
    *,
    on_page: bool = False,
) -> NextStep:
    """What to do after this result; the most serious doubt decides."""
    last = subject.run_ids[-1] if subject.run_ids else "last"
    codes = {group.code for group in warnings}
    if not found:
        return NextStep("see what happened", f"diskbench results show {last}")
    for code, profile, reason in _BY_WARNING:
        if code in codes and subject.profile != profile:
            return NextStep(reason, _run(subject, profile))
    if subject.profile in BURST_ONLY:
        reason = "this was a short look, inside any burst credit; measure properly"
        return NextStep(reason, _run(subject, "default"))
    if len(subject.run_ids) == 1 and "imported" not in subject.marks:
        reason = "one run shows no spread; repeat it on the same disk"
        profile = subject.profile_typed or subject.profile
        return NextStep(reason, _run(subject, profile, f"--runs {RUNS}"))
    if on_page:
        return NextStep("take the rows elsewhere", "diskbench results export --to rows.csv")
    return NextStep("see it as a page with charts", f"diskbench report {last}")


def _run(subject: Subject, profile: str, *more: str) -> str:
    words = ("diskbench run", subject.target_flags, "--profile", shlex.quote(profile), *more)
    return " ".join(word for word in words if word)
