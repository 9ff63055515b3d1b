"""A turn of the cells of a matrix, while its row is locked."""

from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.engine.matrix.admission import feed
from diskbench.model.matrix import Limits
from diskbench.store.campaigns import load_campaign, save_campaign
from diskbench.store.cells import load_cells
from diskbench.store.database import database_time
from diskbench.store.machines import MachineRecord
from diskbench.store.matrix_lock import locked


def test_a_turn_has_the_time_at_which_its_cells_were_read(any_database):
    save_campaign(any_database, campaign_row(), [cell_row(0)])
    before = database_time(any_database)
    with locked(any_database, CAMPAIGN) as held:
        assert before <= held.now <= database_time(any_database)
        assert not held.is_over
        held.set_cell(0, state="done")
        assert held.is_over


def test_a_cell_waits_for_its_own_machine_and_no_other_cell_takes_the_place(any_database):
    """Cells of four machines, one of which works and one of which stands idle."""
    cells = [
        cell_row(n, state="measuring" if n == 0 else "waiting", machine=f"m{n % 4}")
        for n in range(12)
    ]
    save_campaign(any_database, campaign_row(limits=Limits(max_parallel=2)), cells)
    standing = [
        MachineRecord.model_construct(campaign_id=CAMPAIGN, name=name) for name in ("m0", "m1")
    ]
    _, begun = feed(any_database, load_campaign(any_database, CAMPAIGN), machines=standing)
    assert begun == 1
    assert [row.machine for row in load_cells(any_database, CAMPAIGN) if row.trial_id] == ["m1"]
