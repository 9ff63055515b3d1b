"""The whole result of a trial as a terminal shows it, from its parts."""

from diskbench.report.assemble.view import View
from diskbench.report.terminal.result_text import print_view


def print_result(subject, measurements, warnings, phases=(), verdicts=(), *, console):
    parts = {"measurements": measurements, "warnings": warnings, "phases": phases}
    found = {name: tuple(rows) for name, rows in (parts | {"verdicts": verdicts}).items()}
    print_view(View(trial_id=subject.trial_id, subject=subject, runs=(), **found), console=console)
