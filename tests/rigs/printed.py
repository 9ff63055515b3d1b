"""The whole result of a trial as a terminal shows it, from its parts."""

from collections.abc import Sequence

from rich.console import Console

from diskbench.model.phase import StepPhases
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.model.verdict import Verdict
from diskbench.report.assemble.subject import Subject
from diskbench.report.assemble.view import View
from diskbench.report.terminal.result_text import print_view


def print_result(
    subject: Subject,
    measurements: Sequence[Measurement],
    warnings: Sequence[Warning],
    phases: Sequence[StepPhases] = (),
    verdicts: Sequence[Verdict] = (),
    *,
    console: Console,
) -> None:
    trial = View(
        trial_id=subject.trial_id,
        subject=subject,
        runs=(),
        measurements=tuple(measurements),
        warnings=tuple(warnings),
        phases=tuple(phases),
        verdicts=tuple(verdicts),
    )
    print_view(trial, console=console)
