import pytest
from tests.unit.report.made import row

from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.report.assemble.lines import grouped_warnings, lines


def test_runs_give_the_median_and_range_of_their_own_figures_and_are_never_pooled():
    found = [(3000.0, 1e6, 90_000), (100.0, 80e6, 3_000), (2900.0, 2e6, 87_000)]
    rows = [row(run_id=str(n), iops=of[0], p99_ns=of[1], ios=of[2]) for n, of in enumerate(found)]
    (line,) = lines(rows)
    assert (line.iops.median, line.iops.low, line.iops.high) == (2900, 100, 3000)
    assert line.iops.values == (3000, 100, 2900), "the order of the runs is kept"
    # Merged histograms would put the p99 near the fast runs, which did 98 % of the I/Os.
    assert (line.p99_ns.median, line.p99_ns.high) == (2e6, 80e6)


def test_job_rows_and_canaries_do_not_appear_and_the_fill_only_where_it_is_all_there_is():
    fill = row("fill", role="fill", direction="write", step_index=0)
    others = [row("null", role="canary", step_index=5), row(scope="job", job="a", job_index=0)]
    assert [line.step for line in lines([fill, row(), *others])] == ["rand-read-4k-qd32"]
    assert [line.step for line in lines([fill, *others])] == ["fill"]
    assert lines([row(ios=0)]) == (), "a direction without I/O has no line"


def test_steps_keep_their_order_and_read_comes_before_write_before_sync():
    places = [("b", "sync"), ("b", "write"), ("a", "write"), ("a", "read")]
    rows = [row(step, step_index="ab".index(step), direction=way) for step, way in places]
    assert [(line.step, line.direction) for line in lines(rows)] == places[::-1]


def test_a_quantile_that_some_run_or_round_lacks_is_not_told_at_all():
    found = [(9e6, None), (4e6, 5e6), (9e6, None)]
    rows = [row(run_id=f"r{n}", p99_ns=p, p99_9_ns=high) for n, (p, high) in enumerate(found)]
    (line,) = lines(rows)
    assert line.p99_ns.median == 9e6
    assert line.p99_9_ns is None, "the 5 ms of one run would stand below the p99 of all"
    rows = [row(step_index=n, round=n, p99_9_ns=None if n == 5 else 5e6) for n in range(1, 7)]
    (line,) = lines(rows)
    assert line.p99_9_ns is None
    assert len(line.p99_ns.values) == 1


def test_of_rounds_the_last_five_speak():
    rows = [row(step_index=n, round=n, iops=float(n)) for n in range(1, 9)]
    (line,) = lines(rows)
    assert line.iops.median == 6
    assert line.rounds == (4, 8)


def test_completion_latency_stands_in_and_says_so():
    (line,) = lines([row(lat_mean_ns=None, lat_max_ns=None, clat_mean_ns=7.0, clat_max_ns=9)])
    assert (line.mean_ns.median, line.max_ns.median, line.completion_only) == (7, 9, True)


def test_warnings_with_one_advice_are_told_together_and_repeats_of_a_step_are_counted():
    def warning(step: str, message: str, code: str = "too-short") -> Warning:
        return Warning(code=code, message=message, advice="more time", step=step)

    groups = grouped_warnings(
        [warning("a", "1 s"), warning("b", "2 s"), warning("a", "3 s"), warning("a", "x", "clock")]
    )
    assert [group.code for group in groups] == ["too-short", "clock"]
    assert groups[0].cases == (("a", "1 s (and 1 more like it)"), ("b", "2 s"))


def test_a_write_with_syncs_has_the_latency_of_the_sync():
    other = row("other", step_index=9, direction="write", p99_ns=30e3)
    write, sync, _ = lines([WRITE, row("commit", direction="sync", p99_ns=4.05e6), other])
    assert (write.p99_ns.median, write.latency_of_sync) == (4.05e6, True)
    assert (sync.p99_ns.median, sync.latency_of_sync) == (4.05e6, False)


WRITE = row("commit", direction="write", p99_ns=27e3)
UNTIMED = dict.fromkeys(("lat_mean_ns", "clat_mean_ns", "p50_ns", "p99_ns"))


@pytest.mark.parametrize("sync", [{"iops": 36.0, "p99_ns": 31e6}, UNTIMED], ids=["few", "untimed"])
def test_a_write_with_a_sync_now_and_then_or_untimed_ones_keeps_its_own_latency(sync):
    write, _ = lines([WRITE, row("commit", direction="sync", **sync)])
    assert (write.p99_ns.median, write.latency_of_sync) == (27e3, False)
