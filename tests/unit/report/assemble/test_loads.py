"""Steps that vary the load, the block size, or the shares of reads and writes."""

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.report import made
from tests.unit.report.inside import counted, histogram, lognormal, row
from tests.unit.report.made import plan, step

from diskbench.fio.histogram import needed, value_at
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Step
from diskbench.report.assemble.latencies import MOST_STRETCHES, SHOWN, distributions, latency_map
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


def test_a_curve_has_a_point_for_each_block_size_in_order_the_median_over_the_runs():
    (curve,) = block_curves(reversed(blocks()))
    assert [point.load for point in curve.points] == SIZES
    assert (curve.name, curve.direction, curve.runs) == ("randread", "read", 1)
    drawn = block_chart(curve)
    assert "97,656 IOPS in blocks of 4 KiB" in drawn.alt
    assert len(drawn.drawing(drawn.log or 0)["vconcat"]) == 2
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
    rows = [made.row(one.name, role="offered", p99_ns=1e6) for one in steps if "r0" not in one.name]
    cells = mix_cells(rows, plan(steps=steps))
    assert {(cell.load, cell.writes) for cell in cells} == {
        (r / 100, w / 100) for r in (0, *SHARES) for w in (0, *SHARES) if r or w
    }
    assert all((cell.p99_ns is None) == (cell.load == 0) for cell in cells)
    assert len(mix_chart(cells).drawing(0)["layer"][0]["data"]["values"]) == 12
    assert load_curves(rows, plan=plan(steps=steps)) == (), "a share with other writes each time"
    assert mix_cells([made.row()], None) == ()
    steps = tuple(mixed(r, 0) for r in SHARES)  # of one direction
    assert mix_cells([made.row(step.name) for step in steps], plan(steps=steps)) == ()


def test_quantiles_are_those_that_the_rows_have():
    counts = lognormal(20_000)
    [found] = distributions(histogram(counts))
    for share in (0.5, 0.9, 0.99, 0.999):
        assert found.quantile(share) == value_at(counts, share)


@given(st.integers(1, 200_000))
def test_a_quantile_is_shown_exactly_where_enough_ios_back_it(n):
    [found] = distributions(histogram({1_000_000: n}))
    for share in SHOWN:
        assert (found.quantile(share) is not None) == (n >= needed(share))


def test_the_highest_quantile_is_the_one_that_n_ios_bear_out():
    [found] = distributions(histogram({1_000_000: 2995}))
    assert found.highest**found.n == pytest.approx(0.05)
    assert found.highest >= 0.999
    assert math.isclose(found.shares()[-1], 1.0)


def test_total_latency_comes_before_completion_latency():
    both = pl.concat([histogram({100: 5}, kind="clat"), histogram({200: 5}, kind="lat")])
    [found] = distributions(both)
    assert found.latency_ns.tolist() == [200]
    assert not found.completion_only
    [alone] = distributions(histogram({100: 5}, kind="clat"))
    assert alone.completion_only


def test_steps_come_in_order_and_read_before_write_and_of_a_repeated_one_the_last_round():
    places = [("b", 2, "read"), ("a", 1, "write"), ("a", 1, "read")]
    frames = [histogram({1: 1}, step=s, index=n, direction=way) for s, n, way in places]
    found = [(one.step, one.direction) for one in distributions(pl.concat(frames))]
    assert found == [("a", "read"), ("a", "write"), ("b", "read")]
    assert distributions(pl.DataFrame()) == ()
    rounds = [histogram({k * 100: k}, index=k, of_round=k) for k in (1, 3, 2)]
    [last] = distributions(pl.concat(rounds))
    assert (last.round, last.n) == (3, 3)


EDGES = [2.0**octave * (1 + part / 8) for octave in range(6, 36) for part in range(8)]
SEEN = st.tuples(st.integers(0, 5000), st.integers(0, len(EDGES) - 2))


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.dictionaries(SEEN, st.integers(1, 1000), min_size=1, max_size=60))
def test_every_io_is_in_one_cell_and_a_picture_never_has_too_many(found):
    rows = [(s, EDGES[p], EDGES[p + 1], n) for (s, p), n in sorted(found.items())]
    one = latency_map(counted(rows))
    if one is None:
        return
    cells = one.cells.to_dicts()
    total = sum(cell["per_s"] * (cell["end"] - cell["start"]) for cell in cells)
    assert total == pytest.approx(sum(found.values()))
    assert one.n == sum(found.values())
    assert len({cell["start"] for cell in cells}) <= MOST_STRETCHES
    assert len({cell["low"] for cell in cells}) <= 40
    assert all(0 <= cell["start"] < cell["end"] <= one.seconds for cell in cells)


def test_a_stretch_tells_median_and_highest_and_p99_only_with_enough_ios():
    rows = [(0, 1000, 1125, 90), (1, 1000, 1125, 90), (1, 8000, 9000, 10), (2, 1000, 1125, 299)]
    told = latency_map(counted(rows)).stretches.select("n", "p50", "p99", "highest").rows()
    assert told == [(90, 1125, None, 1125), (100, 1125, None, 9000), (299, 1125, 1125, 1125)]


def test_rounds_lie_after_each_other_a_shorter_stretch_is_not_paler_and_nothing_is_no_map():
    rows = [(0, 1000, 1125, 1), (4, 1000, 1125, 1)]
    found = latency_map(pl.concat([counted(rows, index=k, of_round=k) for k in (1, 2)]))
    assert found.seconds == 10
    assert found.stretches["start"].to_list() == [0, 4, 5, 9]
    rows = [(second, 1000, 1125, 50) for second in range(MOST_STRETCHES * 2 - 1)]
    assert set(latency_map(counted(rows)).cells["per_s"].round(9)) == {50}
    assert latency_map(pl.DataFrame()) is None
    assert latency_map(counted([(0, 1000, 1125, 5)])) is None
