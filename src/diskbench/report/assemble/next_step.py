"""The proposed next step after a result: a command with its reason."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.model.doubts import DOUBTS
from diskbench.report.assemble.subject import SUSPENDED

if TYPE_CHECKING:
    from diskbench.report.assemble.lines import StepLine, WarningGroup
    from diskbench.report.assemble.subject import Subject

BURST_ONLY = frozenset({"quick"})
"""Profiles too short to outlast a burst (method.md B10): their figures describe burst credit."""
RUNS = 5
GO_ON = "the run is suspended; resume it"


@dataclass(frozen=True)
class NextStep:
    """A reason, and the command to type."""

    reason: str
    command: str


def next_step(
    subject: Subject,
    lines: Sequence[StepLine],
    warnings: Sequence[WarningGroup],
    *,
    on_page: bool = False,
) -> NextStep:
    """The next step after this result, chosen by the most serious doubt."""
    last = subject.run_ids[-1] if subject.run_ids else "last"
    codes = {group.code for group in warnings}
    if subject.state == SUSPENDED:
        return NextStep(GO_ON, go_on(subject.trial_id))
    if subject.ended_early:
        return NextStep("the run ended early; repeat it", run_again(subject, subject.runs_planned))
    if not lines:
        return _without_rows(subject, last, on_page=on_page)
    if subject.state in ("planned", "running"):
        return NextStep("the run has not ended; look again later", f"diskbench results show {last}")
    for doubt in DOUBTS.values():
        if doubt.profile and doubt.code in codes and subject.profile != doubt.profile:
            return NextStep(doubt.because, _run_other(subject, doubt.profile))
    if subject.profile in BURST_ONLY:
        reason = "this run was too short to use up burst credit; measure longer"
        return NextStep(reason, _run_other(subject, "default"))
    if len(subject.run_ids) == 1 and "imported" not in subject.marks:
        reason = "one run shows no variation; repeat it on the same disk"
        return NextStep(reason, run_again(subject, RUNS))
    if on_page:
        return NextStep("export the figures", "diskbench results export --to rows.csv")
    return NextStep("open the report with charts", f"diskbench report {last}")


def go_on(trial_id: str) -> str:
    """The command that continues an interrupted run."""
    return f"diskbench resume {trial_id}"


def _without_rows(subject: Subject, last: str, *, on_page: bool) -> NextStep:
    """The next step without rows: an imported fio log has a series and no summary."""
    if "imported" not in subject.marks:
        return NextStep("look at what went wrong", f"diskbench results show {last}")
    if on_page:
        code = f'import diskbench; print(diskbench.load_series("{last}"))'
        return NextStep("read the seconds", f"python -c {shlex.quote(code)}")
    return NextStep("draw the seconds", f"diskbench report {last}")


def _run_other(subject: Subject, profile: str) -> str:
    """The command for another profile on the same target, without the old profile's parameters."""
    return _joined("diskbench run", subject.target_flags, "--profile", shlex.quote(profile))


def run_again(subject: Subject, runs: int) -> str:
    """The command that repeats the measurement with `runs` runs."""
    profile = shlex.quote(subject.profile_typed or subject.profile)
    several = f"--runs {runs}" if runs > 1 else ""
    flags = (subject.target_flags, "--profile", profile, subject.trial_flags, several)
    return _joined("diskbench run", *flags)


def _joined(*words: str) -> str:
    return " ".join(word for word in words if word)
