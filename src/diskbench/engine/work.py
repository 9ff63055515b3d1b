"""Unfinished work by the names that a user types: what they mean, what nobody works on any more and
how it is claimed, and how it is asked to stop."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from diskbench.engine.matrix.campaign import check_resumable, check_running, runs_now
from diskbench.engine.processes import abandoned_cells, living
from diskbench.engine.session import Session
from diskbench.engine.trial.lease import prolong
from diskbench.engine.trial.release import where
from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.campaign import CampaignState, CellRow
from diskbench.model.ids import Known, beginning, last_number, meant, short
from diskbench.model.spec import Plan
from diskbench.store.campaigns import (
    CampaignRow,
    cancel_untaken_cell,
    cell_of_trial,
    claim_cell,
    list_campaigns,
    request_end,
    run_cells,
    unfinished_cells,
    update_cell,
)
from diskbench.store.executors import list_executors
from diskbench.store.query import ids_that_begin, newest_matrix_named
from diskbench.store.rows import load_plan

_UNFINISHED: frozenset[CampaignState] = frozenset({"running", "cancelling"})
_KIND = "unfinished run or matrix"
_ENDED = "'diskbench results list' and 'diskbench matrix status' show finished work"
log = logging.getLogger(__name__)


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


def find_work(database: sa.Engine, names: Sequence[str]) -> list[OngoingWork]:
    """The unfinished work that `names` mean, each item once, in the order of the names.

    Raises UnknownName, and InvalidValue for an empty name, for one that fits several, and for what
    has ended.
    """
    work, known = _all_work(database)
    meanings = [_meant(database, name, known) for name in names]
    return [work[name] for name in dict.fromkeys(meaning.stands_for for meaning in meanings)]


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


def _all_work(database: sa.Engine) -> tuple[Mapping[str, OngoingWork], list[Known]]:
    """The unfinished runs, matrices and cells by their ids, and the names of all of them."""
    campaigns = {
        campaign.campaign_id: campaign for campaign in list_campaigns(database, states=_UNFINISHED)
    }
    work: dict[str, OngoingWork] = {}
    known: list[Known] = []
    for run in run_cells(database):
        if run.trial_id is not None:
            plan = load_plan(database, run.trial_id)
            work[run.trial_id] = OngoingWork(run.trial_id, plan=plan, owner=run.owner)
            trial = Known(plan.trial_id, "trial", where=where(plan))
            runs = (run_id for run_id in plan.run_ids if run_id != trial.id)
            known += [trial, *(Known(name, "run", trial.where, trial.id) for name in runs)]
    for cell in unfinished_cells(database):
        if cell.campaign_id not in campaigns:
            continue
        cell_id = cell.trial_id or f"{cell.campaign_id}/{cell.position}"
        work[cell_id] = OngoingWork(cell_id, cell=cell, campaign=campaigns[cell.campaign_id])
        known.append(Known(cell_id, "cell", where=cell.key))
        known.append(Known(cell.key.lower(), "cell", means=cell_id))
    for campaign in campaigns.values():
        work[campaign.campaign_id] = OngoingWork(campaign.campaign_id, campaign=campaign)
        where_ = f"{campaign.name}, {campaign.state}"
        known.append(Known(campaign.campaign_id, "matrix", where=where_, name=campaign.name))
    return work, known


def abandoned_plans(database: sa.Engine) -> list[Plan]:
    """The plans of the runs' trials that no process works on, oldest first. Trials of a matrix are
    left out, because `resume` continues their cells."""
    trials = filter(None, (cell.trial_id for cell in abandoned_cells(database)))
    return [load_plan(database, trial_id) for trial_id in trials]


def abandoned_work(
    database: sa.Engine, names: Sequence[str]
) -> tuple[list[Plan], list[CampaignRow]]:
    """The trials and the matrices to resume that `names` mean (engine/work.py); a cell means its
    matrix.

    Raises UnknownName, and InvalidValue for a name that fits several, for what a living process
    works on, and for a matrix that is left to workers.
    """
    plans: list[Plan] = []
    matrices: dict[str, CampaignRow] = {}
    left = {cell.trial_id for cell in abandoned_cells(database)}
    for work in find_work(database, names):
        if work.campaign is not None:
            check_resumable(database, work.campaign)
            matrices[work.campaign.campaign_id] = work.campaign
        elif work.plan is not None and work.id in left:
            plans.append(work.plan)
        else:
            name = short(work.id)
            raise InvalidValue(
                f"{name} is being run by another process",
                advice=f"see its progress with 'diskbench status {name}'; stop it with "
                f"'diskbench cancel {name}'",
            )
    return plans, list(matrices.values())


def claim(session: Session, plan: Plan) -> bool:
    """Make this process the owner of an abandoned trial and extend its lease where that is
    possible; False when another process claimed it first. Raises as `prolong`."""
    database, trial_id = session.database, plan.trial_id
    cell = cell_of_trial(database, trial_id)
    if cell is None:
        return False
    if won := claim_cell(database, trial_id, owner=session.executor_id, previous=cell.owner):
        prolong(session, trial_id)
    return won


def cancel(database: sa.Engine, names: Sequence[str]) -> tuple[list[str], list[CampaignRow]]:
    """Stop the runs, trials, cells and matrices that `names` mean (engine/work.py). A cell is not
    tried again, and the other cells of its matrix go on. Returns a line per thing that was asked to
    stop, and the matrices that no process works on, whose cells the caller has to end.

    Raises UnknownName, and InvalidValue for a name that fits several, for a run whose process is
    gone, and for a matrix that has ended; in these cases nothing was asked to stop.
    """
    chosen = find_work(database, names)
    alive = living(list_executors(database))
    for work in chosen:
        if work.plan is not None and work.owner not in alive:
            name = short(work.id)
            raise InvalidValue(
                f"the process that ran {name} has died, so no process would read the request",
                advice=f"resume with 'diskbench resume {name}', or end it with "
                f"'diskbench gc {name}'",
            )
    lines = [_ask_to_stop(database, work) for work in chosen]
    matrices = [work.campaign for work in chosen if work.campaign is not None and work.cell is None]
    foreground = [campaign for campaign in matrices if campaign.queue is not None]
    return lines, [campaign for campaign in foreground if not runs_now(database, campaign)]


def _ask_to_stop(database: sa.Engine, work: OngoingWork) -> str:
    if work.cell is not None:
        name = f"{short(work.id)} ({work.cell.key})"
        if cancel_untaken_cell(database, work.cell):
            return f"{name} will not be measured"
        update_cell(database, work.id, cancel=True)
        return f"{name} was asked to stop; the other cells of its matrix continue"
    if work.campaign is not None:
        check_running(work.campaign)
        request_end(database, work.campaign.campaign_id)
    else:
        update_cell(database, work.id, cancel=True)
    return f"{short(work.id)} was asked to stop"
