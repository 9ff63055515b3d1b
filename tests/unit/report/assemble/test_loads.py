"""Steps that vary the load, the block size, or the shares of reads and writes."""

import pytest
from tests.unit.report import made
from tests.unit.report.inside import row
from tests.unit.report.made import plan, step

from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Step
from diskbench.report.assemble.loads import block_curves, load_curves, mix_cells
from diskbench.report.charts.loads import block_chart, mix_chart


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
    rows = [row(f"j{jobs}", iodepth=4, jobs=jobs, iops=100 * jobs) for jobs in (1, 2, 4)]
    assert [one.load for one in load_curves(rows)[0].points] == [4, 8, 16], "of all jobs"


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
    for index, name in enumerate(served, 2):
        offered = step(index, name, role="offered")
        steps.append(offered.model_copy(update={"job": job.format(name[-2:])}))
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


SIZES = [4096, 8192, 65536, 2**20]
SHARES = (25, 50, 100)


def blocks(sizes=SIZES, **more):
    return [
        made.row(
            f"s{size}", rw="randread", block_bytes=size, iops=4e8 / size, bytes_per_s=4e8, **more
        )
        for size in sizes
    ]


def test_a_curve_has_a_point_for_each_block_size_in_order():
    (curve,) = block_curves(reversed(blocks()))
    assert [point.load for point in curve.points] == SIZES
    assert (curve.name, curve.direction, curve.runs) == ("randread", "read", 1)
    drawn = block_chart(curve)
    assert "97,656 IOPS in blocks of 4 KiB" in drawn.alt
    assert len(drawn.drawing(drawn.log or 0)["vconcat"]) == 2


def test_a_point_is_the_median_over_the_runs():
    rows = [one for n, run in enumerate("abc") for one in blocks(run_id=run, p50_ns=1e6 * n)]
    (curve,) = block_curves(rows)
    assert curve.runs == 3
    assert {point.bytes_per_s for point in curve.points} == {4e8}


def test_three_sizes_other_loads_and_rounds_make_no_curve():
    assert block_curves(blocks(SIZES[:3])) == ()
    assert block_curves(blocks(iodepth=1)[:2] + blocks(iodepth=32)[2:]) == ()
    assert block_curves([*blocks(), made.row("twice", rw="randread", block_bytes=4096)]) == ()
    assert block_curves(blocks(round=1)) == ()


def mixed(r, w, **more):
    reads = f"[r]\nrw=randread\nrate_iops={r}% of reads\n" if r else ""
    writes = f"[w]\nrw=randwrite\nrate_iops={w}% of writes\n" if w else ""
    fields = {"index": 1, "name": f"r{r}w{w}", "role": "offered", "expected_s": 1.0}
    return Step(**fields, job=reads + writes, **more)


def test_a_grid_has_the_shares_that_were_offered_and_what_reads_took():
    steps = tuple(mixed(r, w) for r in (0, *SHARES) for w in (0, *SHARES) if r or w)
    rows = [
        made.row(step.name, role="offered", p99_ns=1e6) for step in steps if "r0" not in step.name
    ]
    cells = mix_cells(rows, plan(steps=steps))
    assert {(cell.load, cell.writes) for cell in cells} == {
        (r / 100, w / 100) for r in (0, *SHARES) for w in (0, *SHARES) if r or w
    }
    assert all((cell.p99_ns is None) == (cell.load == 0) for cell in cells)
    rects = mix_chart(cells).drawing(0)["layer"][0]["data"]["values"]
    assert len(rects) == 12
    assert load_curves(rows, plan=plan(steps=steps)) == (), "a share with other writes each time"
    assert mix_cells([made.row()], None) == ()
    steps = tuple(mixed(r, 0) for r in SHARES)  # of one direction
    assert mix_cells([made.row(step.name) for step in steps], plan(steps=steps)) == ()
