"""Outputs of `fio --client` whose servers differ, or that were cut (whole: golden/imports.txt)."""

from pathlib import Path

import pytest

from diskbench.errors import FioOutputUnreadable, InvalidValue
from diskbench.importers.registry import read_imported

CASES = Path(__file__).parents[2] / "cases/imports"
MIB = 2**20


def imported(name):
    return read_imported((CASES / name).read_bytes(), name=name)


def rows(run):
    return {
        (row.step, row.direction): row
        for step in run.steps
        for row in step.measurements
        if row.scope == "step"
    }


@pytest.mark.parametrize("name", ["fio-3.33-client.txt", "fio-3.33-client-terse5.txt"])
def test_an_output_without_one_of_its_servers_is_refused(name):
    lines = (CASES / name).read_text().splitlines(keepends=True)
    begin = ("r: (groupid", "5;fio-3.33;r;")
    begins = [at for at, line in enumerate(lines) if line.startswith(begin)]
    assert len(begins) == 2
    cut = "".join([*lines[: begins[0]], *lines[begins[1] :]])
    with pytest.raises(InvalidValue) as refused:
        read_imported(cut.encode(), name=name)
    assert isinstance(refused.value.__cause__, FioOutputUnreadable)
    assert "All clients" in refused.value.message


def test_servers_whose_jobs_of_one_name_differ_have_no_options_in_common():
    """1,024 I/Os of 8 KiB and 1,024 of 4 KiB."""
    text = (CASES / "fio-3.33-client.txt").read_text()
    for old, new, count in (
        ("(R) 4096B-4096B, (W) 4096B-4096B", "(R) 8192B-8192B, (W) 8192B-8192B", 1),
        ("(4096KiB/2558msec)", "(8192KiB/2558msec)", 2),
        ("(8192KiB/2560msec)", "(12.0MiB/2560msec)", 2),
    ):
        assert old in text
        text = text.replace(old, new, count)
    (run,) = read_imported(text.encode(), name="x").runs
    for row in rows(run).values():
        assert (row.ios, row.bytes) == (2048, 12 * MIB)
        assert (row.rw, row.block_bytes) == (None, None)


def test_a_text_that_was_cut_before_the_sum_of_its_servers_says_so():
    text = (CASES / "fio-3.33-client.txt").read_text()
    whole, cut = imported("fio-3.33-client.txt"), text[: text.index("All clients")]
    assert whole.runs[0].notes == ()
    found = read_imported(cut.encode(), name="x")
    assert [("2 servers" in note, "All clients" in note) for note in found.runs[0].notes] == [
        (True, True)
    ]
