import pytest
from tests.rigs.plans import make_plan

from diskbench.report.run_list import run_lines, where
from diskbench.store.run_row import run_row


def a_run(**changes):
    return run_row(make_plan(), 0, "file:///e") | changes


def test_columns_line_up_under_their_header():
    header, first, second = run_lines([a_run(), a_run(profile="offered-load", labels={})])
    at = header.index("where")
    assert first[at:].startswith("root@db1 (m7i.large)")
    assert second[at:].startswith("root@db1 (m7i.large)")
    assert first.endswith("team=storage")


def test_a_column_that_no_run_fills_is_left_out():
    header, _ = run_lines([a_run(labels={}, disk_model=None)])
    assert header.split() == ["run", "when", "state", "profile", "where", "target"]


def test_a_line_is_cut_to_the_terminal():
    assert {len(line) for line in run_lines([a_run()], width=60)} == {60}
    assert all(line.endswith("…") for line in run_lines([a_run()], width=60))


def test_a_name_cannot_break_its_line():
    lines = list(run_lines([a_run(profile="x\ny" + "z" * 99)]))
    assert len(lines) == 2
    assert "x y" in lines[1]
    assert "z…" in lines[1]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "root@db1 (m7i.large)"),
        ({"address": None, "instance_type": None}, "db1"),
        ({"address": None, "hostname": None, "instance_type": None}, "ssh"),
        ({"emulated": True, "imported": True}, "root@db1 (m7i.large) [emulated] [imported]"),
    ],
)
def test_where_names_the_machine_and_its_marks(changes, told):
    assert where(a_run(**changes)) == told
