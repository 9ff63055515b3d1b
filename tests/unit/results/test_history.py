"""Histories are made subject by subject: what is in memory does not grow with the store."""

import pytest
from tests.rigs.replicates import measured

from diskbench.model.history import Regressions, regressions_json
from diskbench.results import history
from diskbench.results.history import find_regressions, histories
from diskbench.store.database import open_database
from diskbench.store.figures import load_figures

DISKS = ("gp2", "gp3", "io2", "st1")


@pytest.fixture
def database(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    for night in range(4):
        for disk in DISKS:
            measured(engine, [1000.0 + night, 1010.0], disk=disk, campaign=night)
    yield engine
    engine.dispose()


@pytest.mark.parametrize("most", [1, 3, 200])
def test_histories_are_the_same_however_few_figures_are_read_at_a_time(database, monkeypatch, most):
    whole = find_regressions(database, [])
    assert [len(history.points) for history in whole.histories] == [4] * len(DISKS)
    read = []

    def recorded(*arguments, **named):
        figures = load_figures(*arguments, **named)
        read.append(len(figures["iops"]))
        return figures

    monkeypatch.setattr("diskbench.results.trial_figures.load_figures", recorded)
    monkeypatch.setattr(history, "_MOST_TRIALS", most)
    assert find_regressions(database, []) == whole
    assert max(read) <= most
    assert sum(read) == 8 * len(DISKS)


def test_a_history_is_there_before_the_next_subject_is_read(database, monkeypatch):
    monkeypatch.setattr(history, "_MOST_TRIALS", 8)
    found, read = histories(database, [], {}), []
    monkeypatch.setattr(
        "diskbench.results.trial_figures.load_figures",
        lambda *arguments, **named: read.append(1) or load_figures(*arguments, **named),
    )
    next(found)
    assert len(read) == 1


@pytest.mark.parametrize("some", [0, 1, 4])
@pytest.mark.parametrize("undated", [(), ("t1", "tü")])
def test_written_in_pieces_it_is_the_same_document(database, some, undated):
    kept = find_regressions(database, []).histories[:some]
    whole = Regressions(histories=kept, undated=undated)
    pieces = list(regressions_json(kept, undated))
    assert "".join(pieces) == whole.model_dump_json(indent=2)
    assert len(pieces) == some + 2
