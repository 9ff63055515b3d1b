"""The synthetic store of tests/rigs is what its docstring says."""

import pytest
from tests.rigs import synthetic_store
from tests.rigs.figures import find_regressions

from diskbench.results.selection import Selection, chosen
from diskbench.results.site_subjects import by_subject
from diskbench.store.database import open_database
from diskbench.store.digests import load_asked
from diskbench.store.rows import find_plans


@pytest.mark.slow
def test_each_region_and_disk_is_a_configuration_of_its_own(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/synthetic.db")
    regions, disks = synthetic_store.REGIONS[:2], synthetic_store.DISKS[:3]
    synthetic_store.fill(engine, 120, tmp_path, regions=regions, disks=disks)
    rows = load_asked(engine, [])
    subjects = [dict(subject) for subject in by_subject(rows)]
    assert {(one["region"], one["disk"]) for one in subjects} == {
        (region, disk) for region in regions for disk in disks
    }
    plans = find_plans(engine, [row.run.trial_id for row in rows])
    for row in rows:
        plan = plans[row.run.trial_id]
        rent = plan.cell.rent
        assert (rent.disk, rent.region) == (row.rent["disk"], row.rent["region"])
        assert plan.rental.scope.model_dump(mode="json") == row.scope
    wanted = chosen(engine, Selection((), (f"disk={disks[1]}", f"region={regions[0]}")))
    found = find_regressions(engine, wanted).histories
    assert [len(history.points) for history in found] == [4, 4]
    engine.dispose()
