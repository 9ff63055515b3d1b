from tests.rigs.replicates import measured

from diskbench.store.figures import load_figures
from diskbench.store.names import ids_that_begin, known_labels
from diskbench.store.query import parse_filter


def test_a_figure_comes_with_what_was_rented_and_without_what_was_not(any_database):
    measured(any_database, [100.0], disk="gp2")
    measured(any_database, [200.0], disk="gp3", rented=False)
    rented, there = sorted(load_figures(any_database, [], "iops"), key=lambda row: row.value)
    assert rented.rent["disk"] == "gp2"
    assert there.rent is None
    assert (rented.step, rented.direction) == ("read", "read")


def test_filters_choose_runs_and_what_lacks_the_figure_is_left_out(any_database):
    measured(any_database, [100.0, 200.0], labels=[("team", "a")])
    chosen = [parse_filter("label.team=a")]
    assert len(load_figures(any_database, chosen, "iops")) == 2
    assert load_figures(any_database, chosen, "p99_ns") == []
    assert load_figures(any_database, [parse_filter("label.team=b")], "iops") == []


def test_labels_and_beginnings_of_ids_are_known(any_database):
    (trial,) = measured(any_database, [100.0], labels=[("team", "a"), ("disk", "x")])
    assert known_labels(any_database) == {"team", "disk"}
    found = {one.id: one.kind for one in ids_that_begin(any_database, trial[:12])}
    assert found.pop(trial) == "trial"
    assert set(found.values()) <= {"matrix", "run"}
    assert all(one.startswith(trial[:12]) for one in found)
    assert ids_that_begin(any_database, "%") == []
