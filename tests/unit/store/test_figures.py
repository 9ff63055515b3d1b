"""The figures of lists and of comparisons in the database: kept, read, forgotten with their run."""

from dataclasses import astuple

import sqlalchemy as sa
from tests.rigs.replicates import measured
from tests.rigs.statements import statements_of

from diskbench.model.run import Headline
from diskbench.store import figures as kept
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.digests import load_asked, run_digests
from diskbench.store.figures import keep_headlines, load_figures, load_headlines
from diskbench.store.query import ids_that_begin, known_labels
from diskbench.store.rows import delete_runs
from diskbench.store.where import parse_filter


def test_a_figure_comes_with_what_was_rented_and_without_what_was_not(any_database):
    measured(any_database, [100.0], disk="gp2")
    measured(any_database, [200.0], disk="gp3", rented=False)
    found = load_figures(any_database, [], ["iops"])["iops"]
    rented, there = sorted(found, key=lambda row: row.iops)
    assert rented.rent["disk"] == "gp2"
    assert there.rent is None
    assert (rented.step, rented.direction) == ("read", "read")


def test_filters_choose_runs_and_figures_are_loaded_together_as_each_alone(any_database):
    measured(any_database, [100.0, 200.0], labels=[("team", "a")])
    chosen = [parse_filter("label.team=a")]
    assert len(load_figures(any_database, chosen, ["iops"])["iops"]) == 2
    assert load_figures(any_database, chosen, ["p99_ns"]) == {"p99_ns": []}
    assert load_figures(any_database, [parse_filter("label.team=b")], ["iops"]) == {"iops": []}
    measured(any_database, [100.0, 200.0])
    with statements_of(any_database) as one:
        load_figures(any_database, [], ["iops"])
    with statements_of(any_database) as three:
        figures = load_figures(any_database, [], ["iops", "p99_ns", "bytes_per_s"])
    assert len(three) == len(one)
    for metric in ("iops", "p99_ns", "bytes_per_s"):
        alone = load_figures(any_database, [], [metric])[metric]
        ours = [(row.run_id, row.step, getattr(row, metric)) for row in figures[metric]]
        assert ours == [(row.run_id, row.step, getattr(row, metric)) for row in alone]
    assert [row.bytes_per_s for row in figures["bytes_per_s"]] == [100.0 * 4096, 200.0 * 4096]


def test_labels_and_beginnings_of_ids_are_known(any_database):
    (trial,) = measured(any_database, [100.0], labels=[("team", "a"), ("disk", "x")])
    assert known_labels(any_database) == {"team", "disk"}
    found = {one.id: one.kind for one in ids_that_begin(any_database, trial[:12])}
    assert found.pop(trial) == "trial"
    assert set(found.values()) <= {"matrix", "run"}
    assert all(one.startswith(trial[:12]) for one in found)
    assert ids_that_begin(any_database, "%") == []


ONE = Headline("read", 3000.0, 3000.0 * 4096, "baseline", "with care")
OTHER = Headline("read", 100.0, None, None, "yes")


def run_ids(database: sa.Engine) -> list[str]:
    with transaction(database) as connection:
        query = sa.select(schema.run.c.run_id).order_by(schema.run.c.run_id)
        return list(connection.execute(query).scalars())


def test_what_is_kept_is_read_and_replaced_and_goes_with_its_run(any_database):
    measured(any_database, [3000.0, 3010.0])
    first, second = run_ids(any_database)
    keep_headlines(any_database, {first: ONE, second: ONE})
    keep_headlines(any_database, {second: OTHER})
    assert load_headlines(any_database, [first, second]) == {first: ONE, second: OTHER}
    delete_runs(any_database, [first])
    assert load_headlines(any_database, [first, second]) == {second: OTHER}


def test_what_another_version_judged_counts_for_nothing_and_loads_come_from_the_rows(any_database):
    measured(any_database, [3000.0])
    (run_id,) = run_ids(any_database)
    keep_headlines(any_database, {run_id: ONE})
    with transaction(any_database) as connection:
        connection.execute(sa.update(schema.headline).values(judged_by="0.0.0"))
    assert load_headlines(any_database, [run_id]) == {}
    keep_headlines(any_database, {run_id: ONE})
    assert load_headlines(any_database, [run_id]) == {run_id: ONE}
    load = Headline("read", 3000.0, 3000.0 * 4096, is_random=True, block_bytes=4096)
    (found,) = kept.step_loads(any_database, [run_id])[run_id]
    assert astuple(found) == astuple(load)


def test_trials_come_newest_first_with_their_runs_together(any_database):
    measured(any_database, [3000.0, 3010.0], disk="gp2", runs=[(1.0, 2.0, 3.0), (4.0,)])
    measured(any_database, [9000.0], disk="gp3", campaign=1)
    keep_headlines(any_database, dict.fromkeys(run_ids(any_database), ONE))
    trials, total = kept.recent_trials(any_database)
    assert total == 3
    assert [trial.newest.disk_type for trial, _ in trials] == ["gp3", "gp2", "gp2"]
    assert [trial.done for trial, _ in trials] == [1, 1, 3]
    assert [len(headlines) for _, headlines in trials] == [1, 1, 3]
    trials, total = kept.recent_trials(any_database, [parse_filter("disk=gp2")], limit=1)
    assert (len(trials), total) == (1, 2)


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
