"""A matrix that starts although not every cloud can be queried now: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.plan.outlook import BlockOutlook, MatrixOutlook


def out_of_reach(outlook: MatrixOutlook) -> list[BlockOutlook]:
    """Return the blocks that could not be checked from here or now, but may be when they start."""
    return [block for block in outlook.blocks if block.problem and block.problem.passing]


def with_expected(outlook: MatrixOutlook, foreseen: MatrixOutlook) -> MatrixOutlook:
    """Return the matrix with unreachable blocks as the catalogue predicts them. A block without a
    prediction is also left to be checked when it starts, unless there is a budget: its cost is
    unknown."""
    by_block = {block.block: block for block in foreseen.blocks}
    unseen = {block.block for block in out_of_reach(outlook)}

    def instead(block: BlockOutlook) -> BlockOutlook:
        if block.block not in unseen:
            return block
        if by_block[block.block].problem is None:
            return by_block[block.block]
        unlimited = outlook.limits.budget_usd is None
        return block.model_copy(update={"problem": None}) if unlimited else block

    return outlook.model_copy(update={"blocks": tuple(map(instead, outlook.blocks))})
