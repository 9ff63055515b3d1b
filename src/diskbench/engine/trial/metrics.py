"""What the cloud itself counted of a trial, kept with the evidence of its runs.

Asked after the machine went back, so that nobody pays for the wait: a cloud publishes a minute one
to three minutes after it ended, and keeps it for days. Where it cannot be asked, nothing changes.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from diskbench.engine.session import Session
from diskbench.errors import DiskbenchError
from diskbench.model.metrics import CloudMetric, CloudMetrics, covers
from diskbench.model.result import StepResult
from diskbench.model.spec import Plan
from diskbench.ports import Monitors
from diskbench.store.archive import write_metrics
from diskbench.store.dialects import now
from diskbench.store.step_rows import load_results

WAIT_S = 180.0
"""The longest wait, from the end of the last step on; our choice."""
_LOOK_S = 15.0
_NAP_S = 0.5
_LONG_S = 120.0
"""A step of two minutes has a whole one in it; shorter ones are not worth a wait."""

_log = logging.getLogger(__name__)


def keep_metrics(
    session: Session,
    plan: Plan,
    stopping: Callable[[], bool],
    note: Callable[[str], None],
    *,
    waits: bool,
) -> bool:
    """Write `metrics.json` of each run of which the cloud counted something, and return whether a
    later look could add to it. Without `waits` one look is enough; `note` tells the user of a wait.
    Raises StoreUnavailable only."""
    renter: object = session.renter(plan)
    if not (isinstance(renter, Monitors) and plan.rental and plan.acquired):
        return False
    results = load_results(session.database, *plan.run_ids)
    times = [span for steps in results.values() for span in _times(steps)]
    if not times:
        return False
    since, until = min(start for start, _ in times), max(end for _, end in times)
    long_ends = [end for start, end in times if (end - start).total_seconds() >= _LONG_S]
    over = until + timedelta(seconds=WAIT_S if waits and long_ends else 0.0)
    metrics: Sequence[CloudMetric] = ()
    is_noted = False
    try:
        with session.timing.span("cloud's metrics", plan.trial_id):
            while True:
                metrics = renter.metrics(plan.rental, plan.acquired, since, until)
                if not long_ends or covers(metrics, max(long_ends).timestamp()):
                    break
                if datetime.now(UTC) + timedelta(seconds=_LOOK_S) > over or stopping():
                    break
                if not is_noted:
                    note(f"waiting for the cloud's own metrics, {WAIT_S:.0f} s at most")
                    is_noted = True
                due = time.monotonic() + _LOOK_S
                while time.monotonic() < due and not stopping():
                    time.sleep(_NAP_S)
    except DiskbenchError as error:
        _log.info("no metrics of the cloud: %s", error.message, extra={"trial": plan.trial_id})
    except Exception as error:  # noqa: BLE001 - a provider's fault must not keep what was measured
        _log.warning("no metrics of the cloud: %r", error, extra={"trial": plan.trial_id})
    for run_id, steps in results.items():
        kept = _between(metrics, _times(steps))
        if kept:
            store = session.evidence_of(plan.trial_id)
            write_metrics(store, run_id, CloudMetrics(read_at=now(), metrics=kept))
    return not covers(metrics, until.timestamp())


def _times(steps: Sequence[StepResult]) -> list[tuple[datetime, datetime]]:
    return [
        (datetime.fromisoformat(step.started_at), datetime.fromisoformat(step.finished_at))
        for step in steps
        if step.started_at and step.finished_at
    ]


def _between(
    metrics: Sequence[CloudMetric], times: Sequence[tuple[datetime, datetime]]
) -> tuple[CloudMetric, ...]:
    """The series with the points of these steps and of what lies between them."""
    if not times:
        return ()
    first = min(start for start, _ in times).timestamp()
    last = max(end for _, end in times).timestamp()
    kept = []
    for metric in metrics:
        points = tuple(
            (begin, value)
            for begin, value in metric.points
            if begin + metric.period_s > first and begin < last
        )
        if points:
            kept.append(metric.model_copy(update={"points": points}))
    return tuple(kept)
