"""Steps that vary the block size, or the shares of reads and writes."""

from tests.unit.report.made import plan, row

from diskbench.model.spec import Step
from diskbench.report.assemble.loads import block_curves, load_curves, mix_cells
from diskbench.report.charts.loads import block_chart, mix_chart

SIZES = [4096, 8192, 65536, 2**20]
SHARES = (25, 50, 100)


def blocks(sizes=SIZES, **more):
    return [
        row(f"s{size}", rw="randread", block_bytes=size, iops=4e8 / size, bytes_per_s=4e8, **more)
        for size in sizes
    ]


def test_a_curve_has_a_point_for_each_block_size_in_order():
    (curve,) = block_curves(reversed(blocks()))
    assert [point.block_bytes for point in curve.points] == SIZES
    assert (curve.rw, curve.direction, curve.runs) == ("randread", "read", 1)
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
    assert block_curves([*blocks(), row("twice", rw="randread", block_bytes=4096)]) == ()
    assert block_curves(blocks(round=1)) == ()


def mixed(r, w, **more):
    reads = f"[r]\nrw=randread\nrate_iops={r}% of reads\n" if r else ""
    writes = f"[w]\nrw=randwrite\nrate_iops={w}% of writes\n" if w else ""
    fields = {"index": 1, "name": f"r{r}w{w}", "role": "offered", "expected_s": 1.0}
    return Step(**fields, job=reads + writes, **more)


def test_a_grid_has_the_shares_that_were_offered_and_what_reads_took():
    steps = tuple(mixed(r, w) for r in (0, *SHARES) for w in (0, *SHARES) if r or w)
    rows = [row(step.name, role="offered", p99_ns=1e6) for step in steps if "r0" not in step.name]
    cells = mix_cells(rows, plan(steps=steps))
    assert {(cell.read_share, cell.write_share) for cell in cells} == {
        (r / 100, w / 100) for r in (0, *SHARES) for w in (0, *SHARES) if r or w
    }
    assert all((cell.read_p99_ns is None) == (cell.read_share == 0) for cell in cells)
    rects = mix_chart(cells).drawing(0)["layer"][0]["data"]["values"]
    assert len(rects) == 12
    assert load_curves(rows, plan=plan(steps=steps)) == (), "a share with other writes each time"


def test_an_offered_load_of_one_direction_is_no_grid():
    steps = tuple(mixed(r, 0) for r in SHARES)
    assert mix_cells([row(step.name) for step in steps], plan(steps=steps)) == ()
    assert mix_cells([row()], None) == ()
