import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report.made import row
from tests.unit.report.reported import DOUBT, PRICE, fallen, judged, trial, verdict

from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.threshold import Threshold
from diskbench.report.assemble.lines import Spread, StepLine, TableCell, grouped_warnings, lines
from diskbench.report.assemble.result_rows import result_rows
from diskbench.report.assemble.threshold_lines import threshold_lines
from diskbench.report.assemble.words import row_href, row_id


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


def replicates(*values, **more):
    judgements = [(verdict(judged(value, 3000.0)),) for value in values]
    return [trial(trial_id=str(n), verdicts=of, **more) for n, of in enumerate(judgements)]


def test_a_level_is_a_row_and_no_row_spans_a_cliff():
    burst, baseline = result_rows([trial(verdicts=(fallen(),))])
    assert (burst.when, burst.iops.text) == ("burst 0:00–0:31", "2,995")
    assert (baseline.when, baseline.iops.text) == ("baseline 0:31–2:30", "99.6")
    assert baseline.limiter == "burst credit used up"
    assert burst.id == "row-01trial-run0-rand-read-4k-qd32"
    assert baseline.id == f"{burst.id}-1"


def test_runs_on_one_disk_have_a_range_and_no_interval():
    runs = [verdict(judged(value, 3000.0), run_id=str(value)) for value in (2900.0, 3000.0, 3100.0)]
    (one,) = result_rows([trial(count=3, verdicts=tuple(runs))])
    assert one.iops == TableCell("3,000", small="2,900–3,100")
    assert one.ratio == TableCell("100%", small="no interval (n = 1)")


def test_runs_at_two_levels_have_a_row_each_with_how_many_were_at_it():
    early = verdict(judged(3000.0, 3000.0, kind="burst"), run_id="a")
    late = [verdict(judged(100.0, 100.0, kind="baseline"), run_id=run) for run in "bc"]
    first, second = result_rows([trial(count=3, verdicts=(early, *late))])
    assert (first.when, first.iops.text) == ("burst in 1 of 3 runs", "3,000")
    assert (second.when, second.iops.text) == ("baseline in 2 of 3 runs", "100")


def test_six_machines_make_an_interval_and_five_do_not():
    (five,) = result_rows(replicates(2900, 2950, 3000, 3050, 3100), of="group-1")
    assert five.iops == TableCell("3,000", small="2,900–3,100")
    assert five.ratio.small == "no interval (n = 5)"
    (six,) = result_rows(replicates(2900, 2950, 3000, 3050, 3100, 3150), of="group-1")
    assert six.iops == TableCell("3,025", small="97%: 2,900–3,150")
    assert six.ratio == TableCell("101%", small="97%: 97%–105%")
    assert six.id == "row-group-1-rand-read-4k-qd32"


def test_a_price_is_of_what_lasts_and_of_what_the_block_size_is_bought_for():
    small = trial([row(block_bytes=4096)], price=PRICE, verdicts=(fallen(),))
    burst, baseline = result_rows([small])
    assert burst.price.text == "–"
    assert baseline.price.text == "$20.08 per 1,000 IOPS"
    judged_ = (verdict(judged(100.0)),)
    large = trial([row(block_bytes=2**20)], price=PRICE, verdicts=judged_)
    assert result_rows([large])[0].price.text == "$1.91 per 100 MB/s"


@pytest.mark.parametrize(
    ("doubted", "runs", "trust", "doubt"),
    [(1, 2, "no", "served from cache"), (1, 3, "yes", ""), (2, 6, "no", "served from cache")],
)
def test_the_judgement_over_a_levels_runs_counts_and_no_odd_run_does(doubted, runs, trust, doubt):
    bad = {"trust": "no", "reasons": (DOUBT,)}
    kinds = [bad] * doubted + [{}] * (runs - doubted)
    found = [verdict(judged(1.0), run_id=str(n), **kind) for n, kind in enumerate(kinds)]
    (one,) = result_rows([trial(count=runs, verdicts=tuple(found))])
    assert (one.trust, one.doubt) == (trust, doubt)


def test_without_verdicts_the_rows_still_tell_their_figures():
    (one,) = result_rows([trial()])
    assert one.iops.text == "12,000"
    assert (one.trust, one.limiter, one.promised.text) == ("–", "–", "–")


def test_a_row_is_named_after_its_run_step_called_anything_and_direction():
    assert row_id("01run") == "row-01run"
    assert row_href("01run", "rand-read-4k", "read") == "#row-01run-rand-read-4k-read"
    assert row_id("01run", '"><b> ü#', "read") == "row-01run-___b____-read"


# What a profile asks of a figure: passed, not passed, not measured.


ETCD = Threshold.parse("sync p99 < 10ms", step="commit", source="etcd")


def line(*p99_ns, direction="sync", step="commit"):
    iops, p99 = Spread((3000.0,) * max(len(p99_ns), 1)), Spread(p99_ns) if p99_ns else None
    return StepLine(step, direction, "measure", iops, Spread((0.0,)), p99_ns=p99)


@pytest.mark.parametrize(
    ("p99_ns", "outcome"), [(2.4e6, "passed"), (10e6, "not passed"), (31e6, "not passed")]
)
def test_a_figure_is_judged_by_the_limit(p99_ns, outcome):
    (found,) = threshold_lines([ETCD], [line(p99_ns), line(1.0, direction="write")])
    assert found.outcome == outcome
    assert found.text.startswith(f"{outcome}: commit sync p99 is ")
    assert "10.0 ms (etcd)" in found.text


def test_the_worst_of_several_runs_counts_and_what_too_few_syncs_back_is_not_measured():
    (found,) = threshold_lines([ETCD], [line(2e6, 12e6, 3e6)])
    assert found.outcome == "not passed"
    assert "12.0 ms, the worst of 3 runs" in found.text
    (few,) = threshold_lines([ETCD], [line()])
    (none,) = threshold_lines([ETCD], [line(1.0, step="other")])
    assert {few.outcome, none.outcome} == {"not measured"}


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [("p99 > 10ms", "passed"), ("p99 >= 10ms", "not passed"), ("p99 > 9.9ms", "not passed"),
     ("commit: p99 > 1ms", "not passed"), ("write p99 > 1ms", "not measured")],
)  # fmt: skip
def test_what_fails_a_figure_is_the_opposite_of_what_it_keeps_to(condition, outcome):
    (found,) = threshold_lines([Threshold.failing(condition, "--fail-if")], [line(10e6)])
    assert found.outcome == outcome


def test_a_ratio_is_judged_by_the_worst_run_of_each_step():
    verdicts = [verdict(judged(iops, 3000.0), step=step) for step, iops in
                (("a", 2990.0), ("a", 2600.0), ("b", 3000.0))]  # fmt: skip
    verdicts.append(verdict(judged(3000.0), step="without a promise"))
    found = threshold_lines([Threshold.failing("ratio < 90%", "--fail-if")], [], verdicts)
    assert [(each.step, each.outcome) for each in found] == [
        ("a", "not passed"), ("b", "passed"), ("without a promise", "not measured"),
    ]  # fmt: skip


def test_units_are_those_of_the_rows():
    assert Threshold.parse("p99.9 < 250us").limit == 250_000
    assert Threshold.parse("mb_per_s > 100").limit == 100e6
    assert Threshold.parse("read iops > 3000").direction == "read"


@pytest.mark.parametrize(
    "text", ["p99 < 10", "p98 < 10ms", "iops > 3000ms", "fsync p99 < 1ms", "p99 = 1ms", "", "<"]
)
def test_what_is_no_threshold_says_what_was_not_understood(text):
    with pytest.raises(ValueError, match=r"is no|has no unit|needs a unit"):
        Threshold.parse(text)
    with pytest.raises(ValueError, match=r"is no|has no unit|needs a unit"):
        Threshold.failing(f"step: {text}", "--fail-if")


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text):
    try:
        assert Threshold.parse(text).limit >= 0
    except ValueError:
        return
