import sqlalchemy as sa
from tests.rigs.replicates import measured

from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.digests import load_asked, run_digests
from diskbench.store.where import parse_filter


def digests(database):
    return run_digests(database, [row.run.run_id for row in load_asked(database, [])])


def test_runs_come_newest_first_with_what_was_to_be_rented(any_database):
    measured(any_database, [1.0], disk="gp2")
    measured(any_database, [2.0], disk="gp3", campaign=1)
    measured(any_database, [3.0], disk="io1", campaign=2, rented=False)
    found = [(row.rent or {}).get("disk") for row in load_asked(any_database, [])]
    assert found == [None, "gp3", "gp2"]
    assert len(load_asked(any_database, [parse_filter("iops>1.5")])) == 2


def test_the_same_rows_written_again_have_the_same_digest_and_each_run_its_own(any_database):
    measured(any_database, [1.0, 1.0])
    first = digests(any_database)
    assert len(set(first.values())) == 2
    with transaction(any_database) as connection:
        connection.execute(sa.update(schema.run).values(state="done"))
    assert digests(any_database) == first


def test_a_change_in_any_row_of_a_run_changes_its_digest_alone(any_database):
    measured(any_database, [1.0, 2.0])
    before = digests(any_database)
    one = min(before)
    trial = sa.select(schema.run.c.trial_id).where(schema.run.c.run_id == one)
    changes = [
        sa.update(schema.run).where(schema.run.c.run_id == one).values(labels={"a": "b"}),
        sa.update(schema.step).where(schema.step.c.run_id == one).values(fio_exit=1),
        sa.update(schema.measurement).where(schema.measurement.c.run_id == one).values(iops=9.0),
        sa.insert(schema.warning).values(
            run_id=one, step_index=0, position=0, code="c", message="m", advice="a"
        ),
        sa.update(schema.trial).where(schema.trial.c.trial_id.in_(trial)).values(plan={"cell": {}}),
    ]
    seen = {before[one]}
    for change in changes:
        with transaction(any_database) as connection:
            connection.execute(change)
        now = digests(any_database)
        assert now[one] not in seen
        seen.add(now[one])
        assert {**now, one: None} == {**before, one: None}
