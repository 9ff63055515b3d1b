"""The result of `run` and `resume` as tables on stdout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.text import Text

from diskbench.model.ids import short
from diskbench.report.assemble.subject import names_of
from diskbench.report.assemble.trial_facts import audit_line
from diskbench.report.terminal.result_text import (
    audit_style,
    print_brief,
    print_brief_hosts,
    print_view,
)
from diskbench.report.terminal.screen import screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.cli.foreground import Show
    from diskbench.cli.run_results import EndedTrials
    from diskbench.engine.matrix.run_cells import TrialEnding
    from diskbench.engine.session import Session
    from diskbench.model.result import StepAudit
    from diskbench.report.assemble.trial_view import TrialView


def print_tables(
    session: Session, endings: Sequence[TrialEnding], trials: EndedTrials, show: Show
) -> None:
    """The trials that were measured: one in full, several side by side; all in full where the user
    wants to see everything."""
    measured = [ending for ending in endings if ending.refused is None]
    if len(measured) > 1:
        _print_hosts(measured, trials)
    for ending in measured if show.verbose or len(measured) == 1 else ():
        audits = trials.stored(ending).audits
        print_table(trials.view(ending), audits, verbose=show.verbose)
        if show.verbose and not show.quiet:
            store = session.evidence_of(ending.plan.trial_id)
            print(f"evidence: {store.url}/runs/{ending.plan.run_ids[-1]}/", file=sys.stderr)


def _print_hosts(measured: Sequence[TrialEnding], trials: EndedTrials) -> None:
    """Several machines side by side."""
    names = names_of([ending.plan for ending in measured])
    named = [(name, trials.view(ending)) for name, ending in zip(names, measured, strict=True)]
    console, asked = screen(), short(measured[0].plan.campaign_id)
    print_brief_hosts(named, asked, console=console)
    console.print()


def print_table(view: TrialView, audits: Sequence[StepAudit], *, verbose: bool) -> None:
    """One trial on stdout, in short or with everything about it."""
    console = screen()
    (print_view if verbose else print_brief)(view, console=console)
    line = audit_line(audits)
    if line and (verbose or "does not hold" in line):
        console.print(Text(line, audit_style(line)))
    console.print()
