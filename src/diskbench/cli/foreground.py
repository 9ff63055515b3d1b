"""What `run` and `resume` share: drive plans in this process, show them, end with an exit code."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from diskbench.errors import DiskbenchError

if TYPE_CHECKING:
    from diskbench.engine.execute import TrialReport
    from diskbench.engine.session import Session
    from diskbench.model.spec import Plan

Output = Literal["table", "json", "csv"]
_SEVERITY = (3, 130, 2, 1, 0)
"""Which exit code wins when several hosts end differently: what costs money or data first."""


@dataclass(frozen=True)
class Show:
    """What the user wants to see."""

    output: Output = "table"
    quiet: bool = False
    timing: bool = False


def drive(session: Session, plans: Sequence[Plan], show: Show, *, take_over: bool = False) -> int:
    """Run `plans` to their end; returns the process's exit code.

    Results go to stdout, everything else to stderr.
    """
    from diskbench.engine.execute import execute
    from diskbench.engine.interrupt import interruptible
    from diskbench.engine.lease import left_behind, where
    from diskbench.engine.watch import RowWatcher
    from diskbench.report.progress import open_progress

    stop = threading.Event()
    progress = open_progress(plans, quiet=show.quiet, stream=sys.stderr)

    def stopping() -> None:
        for plan in plans:
            progress.note(plan.trial_id, "stopping fio; press Ctrl-C again to leave at once")

    def left() -> str:
        paths = "; ".join(f"{', '.join(left_behind(p))} on {where(p)}" for p in plans)
        ids = " ".join(p.trial_id for p in plans)
        return f"Left behind: {paths}.\nGo on with: diskbench resume, or give back with: diskbench gc {ids}"

    watcher = RowWatcher(session.database, list(plans), progress, stop)
    try:
        with interruptible(stop, stopping, left):
            reports = execute(session, plans, watcher, stop, take_over=take_over)
    finally:
        progress.close()
    _print_results(session, reports, show)
    for report in reports:
        _print_problems(report)
    return worst(report.exit_code for report in reports)


def worst(codes: Sequence[int] | object) -> int:
    """The exit code that tells the most serious of `codes`; 0 for none."""
    found = set(codes)  # type: ignore[call-overload]
    return next((code for code in _SEVERITY if code in found), 0)


def leave(session: Session, code: int) -> int:
    """Close what is worth closing. The workflow engine's threads are not waited for (0.9 s)."""
    session.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def print_error(error: BaseException, *, prefix: str = "") -> None:
    """An error and its advice, on stderr."""
    text = str(error) if isinstance(error, DiskbenchError) else f"{type(error).__name__}: {error}"
    print(f"{prefix}error: {text}", file=sys.stderr)
