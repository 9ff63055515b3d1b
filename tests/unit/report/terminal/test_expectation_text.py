"""What should be found, in words and tables: of a plan and of the blocks of a matrix."""

from tests.books import SHIPPED

from diskbench.engine.matrix.matrix_file import load_matrix, outlook_of
from diskbench.model.expectation import (
    Bound,
    CreditRange,
    DiskPrice,
    Expectation,
    ExpectedLevel,
    Load,
    PlanExpectation,
    StepExpectation,
)
from diskbench.report.assemble.price_text import price_lines
from diskbench.report.terminal.expectation_text import (
    credit_words,
    expected_lines,
    expected_pairs,
)
from diskbench.report.terminal.matrix_expected import expected_table, price_table


def level(iops: float, counts: float = 1) -> ExpectedLevel:
    return ExpectedLevel(
        iops=iops,
        low_iops=iops,
        high_iops=iops,
        bytes_per_s=iops * 4096,
        limited_by="disk-iops",
        bounds=(Bound(limit="disk-iops", iops=iops, counts=counts),),
    )


BURSTING = Expectation(
    load=Load(block_bytes=4096),
    reads=None,
    writes=None,
    begin=level(3000),
    lasting=level(100, counts=4),
    lasts_s=1862,
)


def step(index: int, name: str, load: int | None = 0) -> StepExpectation:
    return StepExpectation(index=index, name=name, start_s=0, seconds=60, load=load)


def expected(*steps: StepExpectation, **more: object) -> PlanExpectation:
    values = {"expectations": (BURSTING,), "steps": steps, **more}
    return PlanExpectation.model_validate(values)


def test_a_step_has_a_line_and_below_it_what_is_left_once_credit_is_gone():
    lines = list(expected_lines(expected(step(0, "randread"))))
    assert lines[1].split() == ["randread", "3,000", "12.3", "disk", "IOPS"]
    assert lines[2].strip().startswith("after 31 min ")
    assert lines[2].endswith("disk IOPS (a block counts as 4)")


def test_a_step_whose_jobs_are_no_one_load_has_no_figures():
    lines = list(expected_lines(expected(step(0, "mixed", load=None))))
    assert lines[1].split() == ["mixed", "–", "–"]


def test_many_steps_are_cut_and_long_names_too():
    steps = [step(n, f"a-step-with-quite-a-long-name-{n}") for n in range(40)]
    lines = list(expected_lines(expected(*steps)))
    assert "… and 25 more" in lines[-1]
    assert max(len(line) for line in lines) <= 80


def test_of_an_unknown_disk_nothing_is_told():
    assert list(expected_lines(None)) == []
    assert list(expected_pairs(None)) == []


def test_credit_that_lasts_says_how_long_full_load_would_take():
    lasts = CreditRange(bucket="disk-iops", gone_s=None, full_load_s=1862)
    assert credit_words(lasts) == "disk IOPS: not used up (full load uses it up in 31 min)"


def test_credit_that_is_gone_says_where_and_in_which_range():
    gone = CreditRange(
        bucket="vm-throughput",
        gone_s=11_469,
        earliest_s=8331,
        latest_s=18_242,
        full_load_s=1862,
        run=34,
        step="read",
    )
    assert credit_words(gone) == (
        "VM throughput: used up after 3 h 11 min, in read of run 34; "
        "2 h 19 min to 5 h 04 min, depending on request size"
    )
    sure = gone.model_copy(update={"earliest_s": 11_469.0, "latest_s": 11_469.0, "run": 1})
    assert credit_words(sure) == "VM throughput: used up after 3 h 11 min, in read"


def test_a_price_that_is_not_known_is_said_to_be_so():
    unknown = DiskPrice(storage_usd=None, transactions_usd=0.0, total_usd=None)
    assert list(price_lines(unknown)) == ["what a month of it costs is not known"]


def test_what_the_catalogue_does_not_know_is_named():
    pairs = dict(expected_pairs(expected(step(0, "a"), unknown=("limits of z9.huge",))))
    assert pairs["unknown"] == "limits of z9.huge (not included in the expectation)"


def test_blocks_of_a_matrix_show_result_limit_and_price_in_80_columns():
    file = load_matrix("gp2-burst")
    blocks = outlook_of(file, SHIPPED, seed=1, offline=True).blocks
    table, prices = list(expected_table(blocks)), list(price_table(blocks))
    assert max(len(line) for line in [*table, *prices]) <= 80
    text = "\n".join(table)
    assert "3,000 IOPS" in text
    assert "  then" in text
    assert "VM throughput" in text
    assert "$20.00" in "\n".join(prices)
