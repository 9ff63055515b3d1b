"""Histories are made subject by subject: what is in memory does not grow with the store."""

import pytest
from tests.rigs.figures import find_regressions
from tests.rigs.replicates import measured

from diskbench.model.history import Regressions, regressions_json
from diskbench.results import history
from diskbench.results.history import histories
from diskbench.store.figures import load_figures

DISKS = ("gp2", "gp3", "io2", "st1")


@pytest.fixture(autouse=True)
def nights(database):
    for night in range(4):
        for disk in DISKS:
            measured(database, [1000.0 + night, 1010.0], disk=disk, campaign=night)


def test_a_history_is_there_before_the_next_subject_is_read(database, monkeypatch):
    whole = find_regressions(database, [])
    assert [len(history.points) for history in whole.histories] == [4] * len(DISKS)
    monkeypatch.setattr(history, "MOST_TRIALS", 8)
    found, read = histories(database, [], {}), []
    monkeypatch.setattr(
        "diskbench.results.trial_figures.load_figures",
        lambda *arguments, **named: read.append(1) or load_figures(*arguments, **named),
    )
    assert next(found) == whole.histories[0]
    assert len(read) == 1
    assert (*whole.histories[:1], *found) == whole.histories
    assert len(read) == len(DISKS)


@pytest.mark.parametrize("some", [0, 1, 4])
@pytest.mark.parametrize("undated", [(), ("t1", "tü")])
def test_written_in_pieces_it_is_the_same_document(database, some, undated):
    kept = find_regressions(database, []).histories[:some]
    whole = Regressions(histories=kept, undated=undated)
    pieces = list(regressions_json(kept, undated))
    assert "".join(pieces) == whole.model_dump_json(indent=2)
    assert len(pieces) == some + 2
