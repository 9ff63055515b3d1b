"""Hosts or disks side by side at 80 columns."""

import io

from rich.console import Console

from diskbench.report.assemble.beside import BesideRow, short_names
from diskbench.report.terminal.beside_text import MOST_ROWS, beside_table


def printed(rows, width=80):
    out = io.StringIO()
    Console(file=out, width=width).print(beside_table(rows, "disk", width=width))
    return out.getvalue().splitlines()


def rows_of(names, **more):
    return [
        BesideRow(step=step, direction="read", name=name, measured="2,990", **more)
        for step in ("seq-read-1m", "rand-read-4k-qd32")
        for name in names
    ]


def test_a_step_is_named_once_and_columns_without_a_value_are_left_out():
    lines = printed(rows_of(["lab gp2 20 GiB", "lab pd-ssd 20 GiB"]))
    assert sum("seq-read-1m" in line for line in lines) == 1
    assert lines[0].split() == ["step", "I/O", "disk", "measured"]


def test_promise_trust_and_replicates_have_columns_where_they_are_known():
    rows = rows_of(["gp2"], ratio=0.98, trust="with care", n=6, limit="disk IOPS")
    assert printed(rows)[0].split()[3:] == ["measured", "n", "of", "promise", "trust"]
    assert "98%" in printed(rows)[1]
    assert "limited by" in printed(rows, width=120)[0]


def test_long_names_are_folded_and_no_line_is_wider_than_the_terminal():
    rows = rows_of(["aws us-east-1 m5.large gp3 100 GiB iops 16000", "b"], ratio=1.0, trust="yes")
    assert all(len(line) <= 80 for line in printed(rows))


def test_what_is_longer_than_a_table_should_be_is_counted():
    lines = printed(rows_of([f"disk{n}" for n in range(MOST_ROWS)]))
    assert f"{MOST_ROWS} more" in lines[-1]


def test_blocks_are_named_by_what_sets_them_apart():
    names = short_names(["lab gp2, quick, a", "lab gp3, quick, b"])
    assert [*names.values()] == ["lab gp2, a", "lab gp3, b"]
    assert short_names(["lab gp2, quick"]) == {"lab gp2, quick": "lab gp2, quick"}
