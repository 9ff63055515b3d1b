import pytest
from tests.unit.report.made import row
from tests.unit.report.reported import DOUBT, PRICE, fallen, judged, trial, verdict

from diskbench.report.assemble.lines import TableCell
from diskbench.report.assemble.result_rows import result_rows
from diskbench.report.assemble.words import row_href, row_id


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
def test_the_judgement_over_the_runs_of_a_level_counts_and_one_odd_run_does_not(
    doubted, runs, trust, doubt
):
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
