from statistics import median

from tests.rigs.figures import find_regressions
from tests.rigs.replicates import measured

from diskbench.results.history import by_subject, configurations, key_of
from diskbench.store.database import transaction
from diskbench.store.digests import load_asked
from diskbench.store.figures import load_figures
from diskbench.store.schema import run


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


def test_a_level_that_changed_is_the_one_that_regressions_finds(database):
    for night, value in enumerate(NIGHTS):
        measured(database, [value], campaign=night)
    (one,) = found(database)
    (known,) = find_regressions(database, []).histories
    assert iops(one).history == known
    assert [change.regression for change in known.changes] == [True]


def test_replicates_are_those_since_the_last_change(database):
    for night, value in enumerate(NIGHTS):
        measured(database, [value, value + 1], campaign=night)
    track = iops(*found(database))
    assert track.now.machines == 8
    assert track.now.median == median([v + more for v in NIGHTS[6:] for more in (0, 1)])
    assert track.now.interval is not None
    assert len(track.sampled) == 20


def test_replicates_with_other_facts_than_the_newest_are_left_out(database):
    for night in range(6):
        facts = {"kernel": "6.5.0"} if night >= 4 else {}
        measured(database, [3000.0 + night], campaign=night, facts=facts)
    (one,) = found(database)
    assert (iops(one).now.machines, iops(one).left_out) == (2, 4)


def test_facts_that_changed_are_told_with_the_time_at_which_they_did(database):
    for night in range(3):
        facts = {"kernel": "6.5.0"} if night == 2 else {}
        measured(database, [3000.0], campaign=night, facts=facts)
    (one,) = found(database)
    (change,) = one.fact_changes
    assert (change.fact, change.before, change.after) == ("kernel", ("6.1.0",), ("6.5.0",))
    assert change.at == iops(one).sampled[2].at
    assert dict(one.facts)["kernel"] == ("6.1.0", "6.5.0")


def test_a_subject_without_a_finished_run_is_shown_without_a_figure(database):
    measured(database, [1.0])
    with transaction(database) as connection:
        connection.execute(run.update().values(state="failed"))
    (one,) = found(database)
    assert (len(one.runs), one.tracks, one.machines) == (1, (), 0)


def test_the_key_of_a_subject_is_its_fields_and_nothing_else(database):
    measured(database, [1.0], disk="gp2")
    (one,) = found(database)
    measured(database, [2.0], disk="gp2", campaign=1, facts={"kernel": "6.5.0"})
    (again,) = found(database)
    assert one.key == again.key == key_of(one.fields)
    measured(database, [3.0], disk="gp3")
    assert len({each.key for each in found(database)}) == 2


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
    groups = by_subject(load_asked(database, []))
    newest = next(iter(groups))
    read = []

    def recorded(*arguments, **named):
        figures = load_figures(*arguments, **named)
        read.extend(row.run.run_id for rows in figures.values() for row in rows)
        return figures

    monkeypatch.setattr("diskbench.results.trial_figures.load_figures", recorded)
    (one,) = configurations(database, [], {newest: groups[newest]})
    assert set(read) == set(one.runs)
    assert list(configurations(database, [], {})) == []
