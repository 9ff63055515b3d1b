"""`diskbench cancel`: ask whoever runs a trial to stop it, or end a cell that nobody has yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.engine.executor import abandoned
from diskbench.engine.takeover import unfinished_trial
from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from diskbench.model.campaign import CellRow


def cancel(database: sa.Engine, names: Sequence[str]) -> list[str]:
    """Stop the trials that `names` (of runs or trials) name; what to tell of each. A cell of a
    matrix is cancelled with its trial: it is not tried again, and the others go on.

    Raises UnknownName for a name of nothing unfinished, InvalidValue for one that fits several, or
    for a run whose process is gone; nobody was asked then.
    """
    from diskbench.store.cells import unfinished_cells
    from diskbench.store.claims import list_claims, list_executors, request_cancel

    cells = {cell.trial_id: cell for cell in unfinished_cells(database) if cell.trial_id}
    trials = list(dict.fromkeys(unfinished_trial(database, name, cells) for name in names))
    left = {claim.trial_id for claim in abandoned(list_claims(database), list_executors(database))}
    for trial_id in trials:
        if trial_id in left and trial_id not in cells:
            raise InvalidValue(
                f"the process that ran {trial_id} is gone: nobody would obey",
                advice=f"go on with 'diskbench resume', or end it with 'diskbench gc {trial_id}'",
            )
    told = []
    for trial_id in trials:
        if trial_id in cells:
            told.append(_cancel_cell(database, cells[trial_id]))
        else:
            request_cancel(database, trial_id)
            told.append(f"{trial_id} was asked to stop")
    return told


def _cancel_cell(database: sa.Engine, cell: CellRow) -> str:
    from diskbench.store.cells import cancel_untaken_cell, update_cell
    from diskbench.store.claims import request_cancel

    assert cell.trial_id is not None
    if cancel_untaken_cell(database, cell.trial_id):
        return f"{cell.key} will not be measured"
    update_cell(database, cell.trial_id, cancel=True)
    request_cancel(database, cell.trial_id)
    return f"{cell.key} was asked to stop; the other cells of its matrix go on"
