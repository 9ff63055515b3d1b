from tests.rigs.replicates import measured
from tests.rigs.statements import statements_of

from diskbench.store.figures import load_figures
from diskbench.store.query import ids_that_begin, known_labels
from diskbench.store.where import parse_filter


def test_a_figure_comes_with_what_was_rented_and_without_what_was_not(any_database):
    measured(any_database, [100.0], disk="gp2")
    measured(any_database, [200.0], disk="gp3", rented=False)
    rented, there = sorted(
        load_figures(any_database, [], ["iops"])["iops"], key=lambda row: row.value
    )
    assert rented.rent["disk"] == "gp2"
    assert there.rent is None
    assert (rented.step, rented.direction) == ("read", "read")


def test_filters_choose_runs_and_what_lacks_the_figure_is_left_out(any_database):
    measured(any_database, [100.0, 200.0], labels=[("team", "a")])
    chosen = [parse_filter("label.team=a")]
    assert len(load_figures(any_database, chosen, ["iops"])["iops"]) == 2
    assert load_figures(any_database, chosen, ["p99_ns"]) == {"p99_ns": []}
    none = load_figures(any_database, [parse_filter("label.team=b")], ["iops"])
    assert none == {"iops": []}


def test_several_figures_are_loaded_as_each_alone_in_as_many_statements(any_database):
    measured(any_database, [100.0, 200.0])
    with statements_of(any_database) as one:
        load_figures(any_database, [], ["iops"])
    with statements_of(any_database) as three:
        figures = load_figures(any_database, [], ["iops", "p99_ns", "bytes_per_s"])
    assert len(three) == len(one)
    for metric in ("iops", "p99_ns", "bytes_per_s"):
        assert figures[metric] == load_figures(any_database, [], [metric])[metric]
    assert [row.value for row in figures["bytes_per_s"]] == [100.0 * 4096, 200.0 * 4096]


def test_labels_and_beginnings_of_ids_are_known(any_database):
    (trial,) = measured(any_database, [100.0], labels=[("team", "a"), ("disk", "x")])
    assert known_labels(any_database) == {"team", "disk"}
    found = {one.id: one.kind for one in ids_that_begin(any_database, trial[:12])}
    assert found.pop(trial) == "trial"
    assert set(found.values()) <= {"matrix", "run"}
    assert all(one.startswith(trial[:12]) for one in found)
    assert ids_that_begin(any_database, "%") == []
