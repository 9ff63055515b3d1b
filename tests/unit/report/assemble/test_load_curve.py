import pytest
from tests.unit.report.inside import row
from tests.unit.report.made import plan, step

from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.report.assemble.loads import load_curves


def sweep(*pairs, **more):
    return [row(f"qd{depth}", iodepth=depth, iops=iops, **more) for depth, iops in pairs]


def test_points_come_by_depth_and_those_past_the_knee_are_saturated():
    [curve] = load_curves(sweep((8, 2950), (1, 700), (2, 1300), (4, 2200), (16, 3000), (32, 2990)))
    assert [one.words for one in curve.points] == ["QD 1", "QD 2", "QD 4", "QD 8", "QD 16", "QD 32"]
    assert [one.saturated for one in curve.points] == [False] * 4 + [True] * 2


def test_a_disk_that_follows_to_the_end_is_not_called_saturated():
    [curve] = load_curves(sweep((1, 100), (2, 200), (4, 400)))
    assert not any(one.saturated for one in curve.points)
    assert load_curves(sweep((1, 100), (2, 200))) == (), "two loads make no curve"


def test_depth_counts_all_jobs():
    rows = [row(f"j{jobs}", iodepth=4, jobs=jobs, iops=100 * jobs) for jobs in (1, 2, 4)]
    assert [one.load for one in load_curves(rows)[0].points] == [4, 8, 16]


def test_of_several_runs_the_median_is_told_and_a_quantile_only_where_all_have_it():
    runs = [
        row(f"qd{depth}", iodepth=depth, iops=iops * depth, run_id=f"r{n}", p99=p99)
        for n, (iops, p99) in enumerate(((100, 5e6), (110, None), (500, 6e6)))
        for depth in (1, 2, 4)
    ]
    [curve] = load_curves(runs)
    assert curve.runs == 3
    assert [one.iops for one in curve.points] == [110, 220, 440]
    assert [one.p99_ns for one in curve.points] == [None] * 3


@pytest.mark.parametrize("known", [True, False])
def test_offered_loads_are_named_by_their_share_and_doubted_where_the_run_doubted(known):
    served = {"offered-25": 250, "offered-50": 500, "offered-75": 700}
    rows = [row(name, role="offered", jobs=64, iops=iops) for name, iops in served.items()]
    rows.append(row("capacity", iodepth=32, iops=1000))
    job = "[a]\nrw=randread\nrate_iops={}% of capacity\n"
    steps = [step(1, "capacity")]
    for name in served:
        job_ = {"job": job.format(name[-2:])}
        steps.append(step(len(steps) + 1, name, role="offered").model_copy(update=job_))
    doubt = Warning(code="saturated", message="", step="offered-75")
    [curve] = load_curves(rows, [doubt], plan(steps=tuple(steps)) if known else None)
    assert curve.offered
    assert [one.saturated for one in curve.points] == [False, False, True]
    words = [one.words for one in curve.points]
    assert words == (["25%", "50%", "75%"] if known else list(served))


def test_directions_and_rounds_are_not_mixed():
    rows = sweep((1, 1), (2, 2), (4, 4)) + sweep((1, 9), (2, 9), (4, 9), direction="write")
    assert [curve.direction for curve in load_curves(rows)] == ["read", "write"]
    assert load_curves(sweep((1, 1), (2, 2), (4, 4), round=1)) == ()
