from diskbench.report.assemble.words import row_href, row_id


def test_a_row_is_named_after_its_run_step_and_direction():
    assert row_id("01run") == "row-01run"
    assert row_href("01run", "rand-read-4k", "read") == "#row-01run-rand-read-4k-read"


def test_a_step_may_be_called_anything():
    assert row_id("01run", '"><b> ü#', "read") == "row-01run-___b____-read"
