"""A comparison reads each side once, whatever the number of its metrics, trials and runs."""

from tests.rigs.replicates import measured
from tests.rigs.statements import statements_of

from diskbench.results.compare_runs import compare_metrics
from diskbench.results.replicate_set import main_figures

METRICS = ("iops", "bytes_per_s", "lat_mean_ns", "p99_ns", "p99_9_ns")


def trials(database, count, *, first=0):
    for side, disk in (("a", "gp2"), ("b", "gp3")):
        runs = [(100.0 + n, 101.0, 102.0) for n in range(count)]
        values = [each[0] for each in runs]
        measured(database, values, disk=disk, labels=[("s", side)], runs=runs, first=first)


def test_more_metrics_trials_and_runs_send_no_more_statements(database):
    trials(database, 2)
    with statements_of(database) as few:
        compare_metrics(database, "s=a", "s=b", metrics=METRICS[:1])
    trials(database, 6, first=2)
    with statements_of(database) as many:
        compare_metrics(database, "s=a", "s=b", metrics=METRICS)
    assert len(many) == len(few)


def test_metrics_together_are_compared_as_each_alone(database):
    trials(database, 3)
    both = compare_metrics(database, "s=a", "s=b", metrics=METRICS[:2])
    alone = [compare_metrics(database, "s=a", "s=b", metrics=[metric]) for metric in METRICS[:2]]
    assert both.compared == tuple(line for one in alone for line in one.compared)
    assert (both.a, both.b) == (alone[0].a, alone[0].b)


def test_large_blocks_are_read_with_the_others(database):
    measured(database, [100.0, 101.0])
    with statements_of(database) as small:
        main_figures(database, [])
    measured(database, [50.0, 51.0], step="large", block_bytes=1 << 20, first=2)
    with statements_of(database) as both:
        figures = main_figures(database, [])
    assert len(both) == len(small)
    assert [metric for metric, _ in figures] == ["iops"] * 2 + ["bytes_per_s"] * 2
