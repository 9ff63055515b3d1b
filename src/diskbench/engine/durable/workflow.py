"""The stations of a trial behind checkpoints: a step of DBOS each.

A killed controller's trial continues, in another process, at the station where it stood. The four
properties in docs/design.md#durable-execution shape this file: the application version is fixed,
and a stop is a message that stations obey, never a DBOS cancel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbos import DBOS

from diskbench.model.outcome import Outcome, RunEnd
from diskbench.model.spec import Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.engine.trial.order import Stations
    from diskbench.model.spec import Plan

APPLICATION = "diskbench"
"""The name that owns workflows, queues and schedules in a database shared with other programs."""
APPLICATION_VERSION = "1"
"""Raised by hand when the sequence of stations changes; runs of another version are released."""

_stations: Stations | None = None
_load_plan: Callable[[str], Plan] | None = None


def bind(stations: Stations, load_plan: Callable[[str], Plan]) -> None:
    """Give this process's workflows their adapters; called once, before launch."""
    global _stations, _load_plan
    _stations, _load_plan = stations, load_plan


def _bound() -> tuple[Stations, Callable[[str], Plan]]:
    if _stations is None or _load_plan is None:
        raise RuntimeError("bind() was not called before the workflow ran")
    return _stations, _load_plan


@DBOS.step(name="prepare")
def _prepare(trial_id: str) -> dict[str, Any]:
    stations, load_plan = _bound()
    return stations.prepare(load_plan(trial_id)).model_dump(mode="json")


@DBOS.step(name="measure")
def _measure(trial_id: str, run_index: int, step: dict[str, Any]) -> dict[str, Any]:
    stations, load_plan = _bound()
    outcome = stations.measure(load_plan(trial_id), run_index, Step.model_validate(step))
    return outcome.model_dump(mode="json")


@DBOS.step(name="finish_run")
def _finish_run(trial_id: str, end: dict[str, Any], prepared: dict[str, Any]) -> None:
    stations, load_plan = _bound()
    stations.finish_run(
        load_plan(trial_id), RunEnd.model_validate(end), Outcome.model_validate(prepared)
    )


class _Checkpointed:
    """The stations, each behind its checkpoint; only JSON goes in and out."""

    def prepare(self, plan: Plan) -> Outcome:
        return Outcome.model_validate(_prepare(plan.trial_id))

    def measure(self, plan: Plan, run_index: int, step: Step) -> Outcome:
        return Outcome.model_validate(
            _measure(plan.trial_id, run_index, step.model_dump(mode="json"))
        )

    def finish_run(self, plan: Plan, end: RunEnd, prepared: Outcome) -> None:
        _finish_run(plan.trial_id, end.model_dump(mode="json"), prepared.model_dump(mode="json"))


CHECKPOINTED: Stations = _Checkpointed()


def load_plan(trial_id: str) -> Plan:
    """The plan of a trial, loaded by the function passed to `bind`."""
    _, load = _bound()
    return load(trial_id)
