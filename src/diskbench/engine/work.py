"""Resolution of ids of runs, trials, cells and matrices, and of names of matrices: one rule for
`resume`, `cancel` and `status`.

The beginning of an id suffices where it fits one thing only (model/ids.py). A trial and its runs
are one thing, and so are a cell and its newest attempt. A matrix and its cells are not: a beginning
that fits both is refused, so that nobody cancels a whole matrix instead of one of its cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.engine.trial.release import where
from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.ids import Known, beginning, last_number, meant, short
from diskbench.store.campaigns import list_campaigns, load_campaign
from diskbench.store.cells import cells_at, run_cells, unfinished_cells
from diskbench.store.query import ids_that_begin, newest_matrix_named
from diskbench.store.rows import load_plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import sqlalchemy as sa

    from diskbench.model.campaign import CampaignState, CellRow
    from diskbench.model.spec import Plan
    from diskbench.store.campaigns import CampaignRow
    from diskbench.store.cells import UnfinishedCell

_UNFINISHED: frozenset[CampaignState] = frozenset({"running", "cancelling"})
_KIND = "unfinished run or matrix"
_ENDED = "'diskbench results list' and 'diskbench matrix status' show finished work"


@dataclass(frozen=True)
class OngoingWork:
    """One trial, cell or matrix that runs, waits, or was abandoned.

    A trial outside a matrix has only a `plan` and its `owner`; a cell has `cell` and `campaign`; a
    matrix has only `campaign`. `id` is the id that every command prints: of a trial and of a cell
    that began, the trial's id; of a cell that has not begun, MATRIX/POSITION; of a matrix, the
    matrix's id.
    """

    id: str
    plan: Plan | None = None
    cell: CellRow | None = None
    campaign: CampaignRow | None = None
    owner: str | None = None


def find_work(
    database: sa.Engine, names: Sequence[str], *, over: bool = False
) -> list[OngoingWork]:
    """The work that `names` mean, each item once, in the order of the names.

    Only unfinished work; with `over` also matrices that have ended. Raises UnknownName, and
    InvalidValue for an empty name, for one that fits several, and for what has ended.
    """
    work, cells, known = _all_work(database, over=over)
    meanings = [_meant(database, name, known) for name in names]
    chosen = dict.fromkeys(meaning.stands_for for meaning in meanings)
    return [work[name] if name in work else _cell_work(database, cells[name]) for name in chosen]


def _cell_work(database: sa.Engine, name: UnfinishedCell) -> OngoingWork:
    (cell,) = cells_at(database, name.campaign_id, [name.position])
    return OngoingWork(name.id, cell=cell, campaign=load_campaign(database, name.campaign_id))


def _meant(database: sa.Engine, name: str, known: Sequence[Known]) -> Known:
    """What an unfinished name means. Raises as `find_work`."""
    if not known and last_number(name) is not None:
        raise InvalidValue(f"{name.strip()!r}: no run or matrix is unfinished", advice=_ENDED)
    named = [item for item in known if item.name == name.strip()]
    if len(named) == 1:
        return named[0]
    try:
        return meant(name, known, _KIND, advice=_ENDED)
    except UnknownName:
        typed = name.strip()
        ended = [item.id for item in ids_that_begin(database, beginning(name, _KIND))]
        ended += filter(None, [newest_matrix_named(database, typed)])
        if not ended:
            raise
        advice = f"see 'diskbench results show {short(ended[0])}'"
        raise InvalidValue(f"{typed} has ended", advice=advice) from None


def _all_work(
    database: sa.Engine, *, over: bool
) -> tuple[Mapping[str, OngoingWork], Mapping[str, UnfinishedCell], list[Known]]:
    """The runs and matrices, the cells, and the ids and names of all of them. Of the cells, which
    may be thousands, only the names are read."""
    campaigns = {
        campaign.campaign_id: campaign
        for campaign in list_campaigns(database, states=None if over else _UNFINISHED)
    }
    work: dict[str, OngoingWork] = {}
    cells: dict[str, UnfinishedCell] = {}
    known: list[Known] = []
    for run in run_cells(database):
        if run.trial_id is not None:
            plan = load_plan(database, run.trial_id)
            work[run.trial_id] = OngoingWork(run.trial_id, plan=plan, owner=run.owner)
            known += _ids_of_trial(plan)
    for cell in unfinished_cells(database):
        if cell.campaign_id not in campaigns:
            continue
        cells[cell.id] = cell
        known.append(Known(cell.id, "cell", where=cell.key))
        known.append(Known(cell.key.lower(), "cell", means=cell.id))
    for campaign in campaigns.values():
        work[campaign.campaign_id] = OngoingWork(campaign.campaign_id, campaign=campaign)
        where_ = f"{campaign.name}, {campaign.state}"
        known.append(Known(campaign.campaign_id, "matrix", where=where_, name=campaign.name))
    return work, cells, known


def _ids_of_trial(plan: Plan) -> Iterator[Known]:
    place = where(plan)
    yield Known(plan.trial_id, "trial", where=place)
    for run_id in plan.run_ids:
        if run_id != plan.trial_id:
            yield Known(run_id, "run", where=place, means=plan.trial_id)
