"""What a tool does not print is empty in its rows: no count, time or rate is made up."""

from pathlib import Path

import pytest

from diskbench.importers.registry import read_imported

CASES = Path(__file__).parents[2] / "cases/imports"
PRINTED = {
    # file → step → what its tool prints, of (ios, bytes, runtime_ns, iops, bytes_per_s)
    "bonnie-1.97.csv": {
        "char-write": {"bytes_per_s"},
        "block-write": {"ios", "bytes", "runtime_ns", "iops", "bytes_per_s"},
        "seeks": {"iops"},
    },
    "dd-last-line.txt": {"dd": {"bytes", "runtime_ns", "bytes_per_s"}},
    "dd-write-4k.txt": {"dd": {"ios", "bytes", "runtime_ns", "iops", "bytes_per_s"}},
    "perfkitbenchmarker_results.json": {"sequential_write": {"iops", "bytes_per_s"}},
    "vdbench-50407.txt": {"rd1": {"runtime_ns", "iops", "bytes_per_s"}},
    "diskspd-2.0-text.txt": {
        "timespan-1": {"ios", "bytes", "runtime_ns", "iops", "bytes_per_s"},
    },
    "hdparm-sata.txt": {
        "buffered-reads": {"ios", "bytes", "runtime_ns", "iops", "bytes_per_s"},
    },
}
FIGURES = ("ios", "bytes", "runtime_ns", "iops", "bytes_per_s")


@pytest.mark.parametrize("name", PRINTED)
def test_a_row_holds_what_its_tool_prints_and_nothing_else(name):
    found = read_imported((CASES / name).read_bytes(), name=name, run_id_of=str)
    steps = {step.step.name: step.measurements for step in found.runs[0].steps}
    for step, printed in PRINTED[name].items():
        for row in steps[step]:
            assert {field for field in FIGURES if getattr(row, field) is not None} == printed
            assert row.did_io


def test_a_percentile_of_uncounted_ios_has_no_number_of_samples():
    data = (CASES / "perfkitbenchmarker_results.json").read_bytes()
    (row,) = read_imported(data, name="x", run_id_of=str).runs[0].steps[0].measurements
    assert row.p50_ns is not None
    assert row.clat_samples is None


def test_a_count_that_terse_output_does_not_give_is_empty():
    """Of 1,000 KiB in a second at 123 IOPS no block size is a power of two."""
    line = (CASES / "fio-3.33-terse3.txt").read_text().splitlines()[0].split(";")
    line[5:9] = ["1000", "1000", "123", "1000"]
    found = read_imported(";".join(line).encode(), name="x", run_id_of=str)
    row = next(r for r in found.runs[0].steps[0].measurements if r.direction == "read")
    assert (row.ios, row.bytes, row.runtime_ns) == (None, 1_024_000, 1_000_000_000)
    assert row.iops == pytest.approx(123)


def test_a_rate_of_vdbench_without_its_head_has_no_run_time():
    line = next(
        line for line in (CASES / "vdbench-50407.txt").read_text().splitlines() if "avg_2-5" in line
    )
    (row,) = read_imported(line.encode(), name="x", run_id_of=str).runs[0].steps[0].measurements
    assert row.runtime_ns is None
    assert row.iops == pytest.approx(104.5)
