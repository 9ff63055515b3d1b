"""Refuse a gate (`--fail-if`) that a plan can never pass: its figure will not be there."""

from collections.abc import Sequence

from diskbench.errors import InvalidValue
from diskbench.fio.declared import declared, directions_of, is_set
from diskbench.model.expectation import PlanExpectation
from diskbench.model.spec import Cell, Plan, Search, Step
from diskbench.model.threshold import Threshold

_SYNCS = ("fsync", "fdatasync", "sync_file_range", "end_fsync", "fsync_on_close")


def check_ratios(plan: Plan, expectation: PlanExpectation | None) -> None:
    """Raise InvalidValue for a gate on the ratio to a promise that there is not."""
    steps = expectation.steps if expectation else ()
    known = {step.name for step in steps if step.load is not None}
    for gate in plan.cell.fail_if:
        if gate.metric == "ratio" and known.isdisjoint(s.name for s in _asked(gate, plan.steps)):
            what = f"step {gate.step!r}" if known else "this disk"
            raise _refusal(
                gate,
                f"there is no ratio: no documented limit says what {what} should reach",
                "say what the disk should reach with --promise iops=5000,mb_per_s=200, or give a "
                "figure: --fail-if 'iops < 4500'",
            )


def _refusal(gate: Threshold, why: str, advice: str) -> InvalidValue:
    return InvalidValue(f"{gate.source}: {why}", advice=advice, field="fail_if")


def check_gates(cell: Cell, steps: Sequence[Step], search: Search | None = None) -> None:
    """Raise InvalidValue for a gate on a step, a direction or a latency that is not measured, or on
    the result of a search that is not made."""
    for gate in cell.fail_if:
        if gate.metric == "sla":
            if search is None or gate.step or gate.direction:
                none = f"profile {cell.profile} makes no search for a rate"
                why = "a search has one result, of all its steps" if search else none
                raise _refusal(gate, why, "--profile sla --fail-if 'sla < 5000' does")
            continue
        asked = _asked(gate, steps)
        if not asked:
            names = ", ".join(dict.fromkeys(step.name for step in steps))
            why = f"profile {cell.profile} has no step {gate.step!r}"
            raise _refusal(gate, why, f"its steps are {names}")
        if {step.role for step in asked} == {"fill"} != {step.role for step in steps}:
            why = f"step {gate.step!r} fills the disk, and no figure of it is kept"
            raise _refusal(gate, why, "name a step that measures")
        in_steps = {step.name: _directions(step) for step in asked}
        run = sorted(set().union(*in_steps.values()))
        if gate.direction is not None and gate.direction not in run:
            where = f"step {gate.step!r}" if gate.step else f"no step of profile {cell.profile}"
            why = f"{where} {'has no' if gate.step else 'has a'} {gate.direction}"
            raise _refusal(gate, why, f"it runs {', '.join(run)}")
        untimed = [
            step.name
            for step in asked
            if gate.direction in (None, *in_steps[step.name])
            and all(
                is_set(options, "gtod_reduce") or is_set(options, "disable_clat")
                for options in declared(step.job).values()
            )
        ]
        if gate.is_latency and untimed:
            why = f"fio times no I/O of step {untimed[0]!r} (gtod_reduce, disable_clat)"
            advice = "take that option out of the job file, or name another step or figure"
            raise _refusal(gate, why, advice)


def _asked(gate: Threshold, steps: Sequence[Step]) -> list[Step]:
    """The steps whose figures a gate is about; a fill has none beside other steps."""
    if gate.step is not None:
        return [step for step in steps if step.name == gate.step]
    return [step for step in steps if step.role != "fill"] or list(steps)


def _directions(step: Step) -> set[str]:
    """What fio reports of a step: its directions, and `sync` where a job syncs."""
    directions: set[str] = set()
    for options in declared(step.job).values():
        directions |= set(directions_of(options) or ("read",))  # fio's default
        if any(is_set(options, name) for name in _SYNCS):
            directions.add("sync")
    return directions
