"""Histories are made subject by subject: what is in memory does not grow with the store."""

from statistics import median

import pytest
from tests.rigs.figures import find_regressions
from tests.rigs.replicates import measured

from diskbench.model.history import Regressions, regressions_json
from diskbench.results import history
from diskbench.results.history import by_subject, configurations, histories, key_of
from diskbench.store.database import transaction
from diskbench.store.digests import load_asked
from diskbench.store.figures import load_figures
from diskbench.store.schema import run

DISKS = ("gp2", "gp3", "io2", "st1")


@pytest.fixture
def nights(database):
    for night in range(4):
        for disk in DISKS:
            measured(database, [1000.0 + night, 1010.0], disk=disk, campaign=night)


@pytest.mark.usefixtures("nights")
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


@pytest.mark.usefixtures("nights")
@pytest.mark.parametrize("some", [0, 1, 4])
@pytest.mark.parametrize("undated", [(), ("t1", "tü")])
def test_written_in_pieces_it_is_the_same_document(database, some, undated):
    kept = find_regressions(database, []).histories[:some]
    whole = Regressions(histories=kept, undated=undated)
    pieces = list(regressions_json(kept, undated))
    assert "".join(pieces) == whole.model_dump_json(indent=2)
    assert len(pieces) == some + 2


def found(database):
    return list(configurations(database, [], by_subject(load_asked(database, []))))


def iops(one):
    (track,) = [track for track in one.tracks if track.metric == "iops"]
    return track


NIGHTS = [3000.0, 3010.0, 2990.0, 3005.0, 2995.0, 3000.0, 2400.0, 2410.0, 2390.0, 2405.0]


def test_each_subject_is_one_configuration_with_all_its_runs(database):
    measured(database, [1.0, 2.0], disk="gp2")
    measured(database, [3.0], disk="gp3", campaign=1)
    measured(database, [4.0], disk="gp2", campaign=2)
    two, three = sorted(found(database), key=lambda one: one.disk)
    assert (two.disk, len(two.runs), two.times, two.machines) == ("gp2 20 GiB", 3, 2, 3)
    assert (three.region, three.machine, three.profile) == ("eu-central-1", "m7i.large", "quick")
    assert two.first < two.last
    every = [row.run.run_id for row in load_asked(database, [])]
    assert list(two.runs) == [run_id for run_id in every if run_id in two.runs]


def test_a_level_that_changed_is_that_of_regressions_and_replicates_are_those_since(database):
    for night, value in enumerate(NIGHTS):
        measured(database, [value, value + 1], campaign=night)
    track = iops(*found(database))
    (known,) = find_regressions(database, []).histories
    assert track.history == known
    assert [change.regression for change in known.changes] == [True]
    assert track.now.machines == 8
    assert track.now.median == median([v + more for v in NIGHTS[6:] for more in (0, 1)])
    assert track.now.interval is not None
    assert len(track.sampled) == 20


def test_facts_that_changed_are_told_and_only_those_with_the_newest_are_replicates(database):
    for night in range(6):
        facts = {"kernel": "6.5.0"} if night >= 4 else {}
        measured(database, [3000.0 + night], campaign=night, facts=facts)
    (one,) = found(database)
    assert (iops(one).now.machines, iops(one).left_out) == (2, 4)
    ((at, change),) = one.fact_changes
    assert (change.fact, change.a, change.b) == ("kernel", ("6.1.0",), ("6.5.0",))
    assert at == iops(one).sampled[4].at
    assert dict(one.facts)["kernel"] == ("6.1.0", "6.5.0")


def test_the_key_of_a_subject_is_its_fields_and_without_a_finished_run_it_has_no_figure(database):
    measured(database, [1.0], disk="gp2")
    (one,) = found(database)
    measured(database, [2.0], disk="gp2", campaign=1, facts={"kernel": "6.5.0"})
    (again,) = found(database)
    assert one.key == again.key == key_of(one.fields)
    measured(database, [3.0], disk="gp3")
    assert len({each.key for each in found(database)}) == 2
    with transaction(database) as connection:
        connection.execute(run.update().values(state="failed"))
    shown = [(len(each.runs), each.tracks, each.machines) for each in found(database)]
    assert sorted(shown) == [(1, (), 0), (2, (), 0)]


def test_reading_in_batches_changes_nothing(database, monkeypatch):
    for night, value in enumerate(NIGHTS):
        disk = ("gp2", "gp3")[night % 2]
        measured(database, [value, value + 1], disk=disk, campaign=night)
    whole = found(database)
    monkeypatch.setattr("diskbench.results.history.MOST_TRIALS", 2)
    assert found(database) == whole
    assert [len(iops(one).sampled) for one in whole] == [10, 10]


def test_only_the_trials_of_the_wanted_subjects_are_read(database, monkeypatch):
    measured(database, [1.0, 2.0], disk="gp2")
    measured(database, [3.0], disk="gp3", campaign=1)
    groups, read = by_subject(load_asked(database, [])), []
    newest = next(iter(groups))

    def recorded(*arguments, **named):
        figures = load_figures(*arguments, **named)
        read.extend(row.run.run_id for rows in figures.values() for row in rows)
        return figures

    monkeypatch.setattr("diskbench.results.trial_figures.load_figures", recorded)
    (one,) = configurations(database, [], {newest: groups[newest]})
    assert set(read) == set(one.runs)
    assert list(configurations(database, [], {})) == []
