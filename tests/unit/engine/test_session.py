"""A worker plans every cell of a session on one catalogue: that of the session."""

from pathlib import Path

import pytest
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.catalog.yaml_loader import Overlay
from diskbench.engine.matrix.admission import admit_cells
from diskbench.engine.matrix.cells import LiveCells
from diskbench.engine.session import open_session
from diskbench.engine.trial.stop import Stop
from diskbench.model.options import RentSpec
from diskbench.model.spec import Cell, TargetSpec
from diskbench.ports import Watcher
from diskbench.providers.aws.cloud import AWSProvider
from diskbench.results.refreshed_catalogue import write_overlay
from diskbench.store.campaigns import claim_cell, find_campaign, load_cells, save_campaign
from diskbench.store.rows import load_plan

CELL = Cell(
    provider="aws",
    target=TargetSpec(kind="device", path="new"),
    rent=RentSpec(disk="gp2", size_gib=20, region="us-east-1", instance_type="c4.xlarge"),
    profile="quick",
)


def overlay(baseline_iops: int) -> Overlay:
    day = "2026-11-20"
    patch = {
        "sources": {"refreshed": {"title": "an API", "as_of": day}},
        "types": {"c4.xlarge": {"iops": baseline_iops, "source": "refreshed"}},
    }
    return Overlay(cloud="aws", region="us-east-1", made_on=day, patches={"machines.yaml": patch})


def test_the_first_cell_of_a_worker_is_planned_on_the_figures_of_its_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # AWS is not asked: its answer is what the catalogue foresees.
    monkeypatch.setattr(AWSProvider, "resolve", lambda self, *asked: self.foresee(*asked))
    write_overlay(overlay(5000))
    session = open_session(f"sqlite:///{tmp_path}/rows.db", (tmp_path / "evidence").as_uri())
    try:
        rows = [cell_row(number, cell=CELL) for number in range(2)]
        save_campaign(session.database, campaign_row(), rows)
        admit_cells(session.database, find_campaign(session.database, CAMPAIGN))
        trials = [one.trial_id for one in load_cells(session.database, CAMPAIGN) if one.trial_id]
        cells = LiveCells(session, Stop(), Watcher(), lambda _: None)
        plans = []
        for trial_id in trials:
            claim_cell(session.database, trial_id, owner=session.executor_id, previous=None)
            assert cells.open(trial_id).state == "done"
            plans.append(load_plan(session.database, trial_id))
            # What is refreshed while the worker runs counts for the next worker.
            write_overlay(overlay(4000))
    finally:
        session.close()
    assert [plan.catalogue for plan in plans] == [session.books.digest] * 2
    for plan in plans:
        expected = plan.expectation.of(plan.expectation.step(5))
        assert 5000 in [one.iops for one in expected.begin.bounds if one.limit == "vm-iops"]
