"""What distinguishes the trials of one command from each other, in a word or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from diskbench.model.spec import Plan


def names_of(plans: Sequence[Plan]) -> list[str]:
    """The shortest label that distinguishes each of the trials of a command: none, the host, the
    replicate, or host and replicate."""
    return [*map(namer(plans), plans)]


def namer(plans: Sequence[Plan]) -> Callable[[Plan], str]:
    """The label of each of `plans`, as `names_of` says."""
    replicates = len({plan.cell.replicate for plan in plans}) > 1

    def name(plan: Plan) -> str:
        if len(plans) < 2:
            return ""
        number = f"#{plan.cell.replicate + 1}"
        if plan.rental is not None and replicates:  # a rented machine's address says nothing
            return number
        host = plan.address or plan.facts.hostname or plan.cell.provider
        return f"{host} {number}" if replicates else host

    return name
