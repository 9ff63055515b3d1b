import sqlalchemy as sa
from tests.rigs.replicates import measured

from diskbench.store import digests as stored
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.digests import load_asked, run_digests
from diskbench.store.rows import end_run, move_evidence
from diskbench.store.where import parse_filter


def trial_stamps(database, filters):
    return dict(stored.trial_stamps(database, filters))


def digests(database):
    return run_digests(database, [row.run.run_id for row in load_asked(database, [])])


def test_runs_come_newest_first_with_what_was_to_be_rented(any_database):
    measured(any_database, [1.0], disk="gp2")
    measured(any_database, [2.0], disk="gp3", campaign=1)
    measured(any_database, [3.0], disk="io1", campaign=2, rented=False)
    found = [(row.rent or {}).get("disk") for row in load_asked(any_database, [])]
    assert found == [None, "gp3", "gp2"]
    assert len(load_asked(any_database, [parse_filter("iops>1.5")])) == 2


def test_the_same_rows_have_the_same_digest_and_each_run_its_own(any_database):
    measured(any_database, [1.0, 1.0])
    first = digests(any_database)
    assert digests(any_database) == first
    assert len(set(first.values())) == 2


def test_a_change_in_any_row_of_a_run_changes_its_digest_alone(any_database):
    measured(any_database, [1.0, 2.0])
    before = digests(any_database)
    one = min(before)
    changes = [
        sa.update(schema.run).where(schema.run.c.run_id == one).values(labels={"a": "b"}),
        sa.update(schema.step).where(schema.step.c.run_id == one).values(fio_exit=1),
        sa.update(schema.measurement).where(schema.measurement.c.run_id == one).values(iops=9.0),
        sa.insert(schema.warning).values(
            run_id=one, step_index=0, position=0, code="c", message="m", advice="a"
        ),
        sa.update(schema.trial)
        .where(schema.trial.c.trial_id == _trial(any_database, one))
        .values(plan={"cell": {}}),
    ]
    seen = {before[one]}
    for change in changes:
        with transaction(any_database) as connection:
            connection.execute(change)
        now = digests(any_database)
        assert now[one] not in seen
        seen.add(now[one])
        assert {key: value for key, value in now.items() if key != one} == {
            key: value for key, value in before.items() if key != one
        }


def test_every_write_to_a_run_changes_the_stamp_of_its_trial_alone(any_database):
    measured(any_database, [1.0, 2.0])
    before = trial_stamps(any_database, [])
    assert trial_stamps(any_database, []) == before
    (first, second) = sorted(before)
    run_id = load_asked(any_database, [], trial_ids=[first])[0].run.run_id
    writes = [
        lambda: move_evidence(any_database, first, "file:///elsewhere"),
        lambda: end_run(
            any_database, run_id, "failed", None, started_at=None, finished_at="2026-01-01"
        ),
        lambda: set_state(any_database, run_id, "running"),
    ]
    seen = {before[first]}
    for write in writes:
        write()
        now = trial_stamps(any_database, [])
        assert now[first] not in seen
        assert now[second] == before[second]
        seen.add(now[first])


def test_a_step_that_ends_changes_the_stamp_of_a_trial_that_has_not_ended(any_database):
    measured(any_database, [1.0])
    ((trial_id, _),) = trial_stamps(any_database, []).items()
    (asked,) = load_asked(any_database, [], trial_ids=[trial_id])
    set_state(any_database, asked.run.run_id, "running")
    before = trial_stamps(any_database, [])
    with transaction(any_database) as connection:
        connection.execute(sa.update(schema.measurement).values(iops=9.0))
    assert trial_stamps(any_database, []) != before


def test_a_stamp_is_of_the_runs_that_were_asked_for(any_database):
    measured(any_database, [1.0, 3.0])
    every = trial_stamps(any_database, [])
    some = trial_stamps(any_database, [parse_filter("iops>2")])
    assert some.items() < every.items()


def set_state(database, run_id, state):
    with transaction(database) as connection:
        connection.execute(
            sa.update(schema.run).where(schema.run.c.run_id == run_id).values(state=state)
        )


def _trial(database, run_id):
    with transaction(database) as connection:
        query = sa.select(schema.run.c.trial_id).where(schema.run.c.run_id == run_id)
        return connection.execute(query).scalar_one()
