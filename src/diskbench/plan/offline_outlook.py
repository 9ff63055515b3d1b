"""A matrix whose clouds cannot all be asked now, and that begins nevertheless: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.plan.outlook import BlockOutlook, MatrixOutlook


def out_of_reach(seen: MatrixOutlook) -> list[BlockOutlook]:
    """The blocks that could not be looked at from here, or now, and may be at their turn."""
    return [one for one in seen.blocks if one.problem and one.problem.passing]


def with_foreseen(seen: MatrixOutlook, foreseen: MatrixOutlook) -> MatrixOutlook:
    """The matrix with blocks out of reach as the catalogue foresees them. One that nobody foresees
    is left to its turn, too, unless there is a budget: what it costs is not known then."""
    by_block = {one.block: one for one in foreseen.blocks}
    unseen = {one.block for one in out_of_reach(seen)}

    def instead(one: BlockOutlook) -> BlockOutlook:
        if one.block not in unseen:
            return one
        if by_block[one.block].problem is None:
            return by_block[one.block]
        left = seen.limits.budget_usd is None
        return one.model_copy(update={"problem": None}) if left else one

    return seen.model_copy(update={"blocks": tuple(map(instead, seen.blocks))})
