"""Replicates until the interval of the median is narrow (MR-7): how many may begin now. Pure.

A matrix with `until_ci` has `max_replicates` cells per block, of which `min_replicates` are always
measured. Then as many more start at once as CONFIRM predicts to be needed, and when they are done
the interval is evaluated again. Cells that are not needed are not run.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from diskbench.model.campaign import LIVE, CellState, UntilStatus
from diskbench.model.matrix import Limits, Matrix
from diskbench.plan.combinations import Combination
from diskbench.plugin import plugin
from diskbench.units import format_share
from diskbench.yaml_lines import Place

MOST_FAILURES = 5
"""How many failed replicates of a block are replaced; our choice."""


def may_begin(
    count: Mapping[CellState, int], status: UntilStatus | None, limits: Limits
) -> int | str:
    """How many waiting cells of a block may start now, or why none is needed any more; `count` says
    how many of its cells are in each state. No `status`: none of them is done."""
    count = Counter(count)
    done, failed = count["done"], count["failed"] + count["cancelled"]
    live = sum(count[state] for state in LIVE)
    if not count["waiting"]:
        return 0
    if count["refused"] and not live:
        return "the matrix has no time or money left for it"
    if failed >= MOST_FAILURES:
        return f"{failed} replicates failed"
    if done < limits.min_replicates:
        return max(0, limits.min_replicates - done - live)
    if status is None or status.n != done:
        return 0  # it is older than the rows: decide on the next call
    if status.more == 0:
        return f"the interval is within {format_share(limits.until_ci or 0.0)}"
    needed = count["waiting"] if status.more is None else status.more
    return max(0, needed - live)


def until_mistakes(matrix: Matrix) -> Iterator[tuple[Place, str, str]]:
    """Yield limits and settings that contradict `until_ci`, each as place, message and advice."""
    limits = matrix.limits
    set_fields = limits.model_fields_set
    if limits.until_ci is None:
        for name in ("min_replicates", "max_replicates"):
            if name in set_fields:
                yield ("limits", name), f"limits.{name} has no effect without until_ci", "add it"
        return
    if limits.max_replicates < limits.min_replicates:
        message = f"limits.max_replicates {limits.max_replicates} is less than min_replicates"
        yield (
            ("limits", "max_replicates"),
            f"{message} {limits.min_replicates}",
            "give that many or more",
        )
    if matrix.reuse_host:
        message = "until_ci and reuse_host: one machine is one sample"
        yield ("limits", "until_ci"), message, "leave one of them out"


def until_mistake_of(combination: Combination, limits: Limits) -> tuple[Place, str, str] | None:
    """Return why a combination cannot be measured with `until_ci`, as place, message and advice;
    None if it can."""
    if limits.until_ci is None:
        return None
    if "replicates" in combination.fields:
        message = "replicates and limits.until_ci both set the number of replicates"
        advice = "leave it out; limits.min_replicates and max_replicates are the bounds"
        return combination.places["replicates"], message, advice
    provider = combination.fields["provider"]
    if plugin(provider).rents:
        return None
    message = f"until_ci needs a new machine for each replicate, and {provider} rents none"
    advice = "measure existing machines in a separate matrix"
    return combination.places.get("provider", combination.at), message, advice
