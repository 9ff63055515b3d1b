"""Width of the intervals of a matrix that adds replicates until they are narrow enough (MR-7).

The main figure of every measured step is judged, and the step that needs most further replicates
decides. Replicates are trials that may be pooled (MR-14); where not all may, the largest group that
may counts.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from diskbench.analysis.repeats import by_machine, median_interval, more_needed, width
from diskbench.model.campaign import UntilStatus
from diskbench.plan.until import BlockStatus
from diskbench.results.pool import alike
from diskbench.results.replicate_set import main_figures
from diskbench.store.block_ends import block_ends, done_trials
from diskbench.store.query import Filter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import sqlalchemy as sa

    from diskbench.results.trial_figures import FigureLine, TrialFigure
    from diskbench.store.block_ends import BlockEnds
    from diskbench.store.campaigns import CampaignRow

_JUDGED_ROLE = "measure"
"""Steps at an offered load are not judged, because their rate is set and not measured."""


def statuses_of(
    database: sa.Engine, campaign_id: str, done: frozenset[tuple[str, str]], share: float
) -> Mapping[str, BlockStatus]:
    """The status of each block, from its finished replicates (`done_trials`)."""
    return _read(database, campaign_id, done, share) if done else {}


@lru_cache(maxsize=16)
def _read(
    database: sa.Engine, campaign_id: str, done: frozenset[tuple[str, str]], share: float
) -> Mapping[str, BlockStatus]:
    """Cached by the set of finished cells: computed again only when another cell has ended."""
    block_of = {trial_id: block for block, trial_id in done}
    figures = main_figures(database, [Filter("campaign_id", "=", campaign_id)])
    blocks: dict[str, dict[FigureLine, list[TrialFigure]]] = {
        block: defaultdict(list) for block in block_of.values()
    }
    for _, figure in figures:
        if figure.trial_id in block_of and figure.role == _JUDGED_ROLE:
            blocks[block_of[figure.trial_id]][figure.line].append(figure)
    count = {block: sum(of_block == block for of_block in block_of.values()) for block in blocks}
    return {block: _worst(count[block], lines, share) for block, lines in blocks.items()}


def _worst(n: int, lines: Mapping[FigureLine, Sequence[TrialFigure]], share: float) -> BlockStatus:
    block_statuses = [_of_line(n, line, figures, share) for line, figures in lines.items()]
    return max(block_statuses, key=_badness, default=BlockStatus(n))


def _badness(block_status: BlockStatus) -> tuple[bool, float, float]:
    return (block_status.more is None, block_status.more or 0, block_status.width or 0.0)


def _of_line(n: int, line: FigureLine, figures: Sequence[TrialFigure], share: float) -> BlockStatus:
    step = f"{line.step} {line.direction}"
    groups = alike(figures)
    if not groups:
        return BlockStatus(n, step)
    values = by_machine(figure.sample for figure in groups[0])
    interval = median_interval(values)
    return BlockStatus(
        n,
        step,
        width=width(interval) if interval else None,
        more=more_needed(values, narrow=share),
    )


def until_statuses(database: sa.Engine, campaign: CampaignRow) -> tuple[UntilStatus, ...]:
    """The status of each block of a matrix; empty for a matrix without `until_ci`."""
    limits = campaign.limits
    if limits.until_ci is None:
        return ()
    done = done_trials(database, campaign.campaign_id)
    statuses = statuses_of(database, campaign.campaign_id, done, limits.until_ci)
    return tuple(
        _until_status(ends, statuses.get(ends.block, BlockStatus(0)), limits.until_ci)
        for ends in block_ends(database, campaign.campaign_id)
    )


def _until_status(ends: BlockEnds, block_status: BlockStatus, share: float) -> UntilStatus:
    reached = block_status.more == 0
    ended = ends.spared or ("" if reached else f"all {ends.cells} replicates were measured")
    return UntilStatus(
        block=ends.block,
        wanted=share,
        n=block_status.n,
        step=block_status.step,
        width=block_status.width,
        more=block_status.more,
        reached=reached,
        ended="" if ends.unfinished else ended,
    )
