"""Foreign results as rows; what a tool does not print is empty in them."""

import json
from pathlib import Path

import pytest

from diskbench.errors import InvalidValue
from diskbench.importers.fio_report import check_log
from diskbench.importers.registry import format_of, read_imported

CASES = Path(__file__).parents[2] / "cases"


def imported(path, name=None):
    data = (CASES / path).read_bytes()
    return read_imported(data, name=name or Path(path).name)


@pytest.mark.parametrize(
    ("version", "write_s", "threads", "started"),
    [("1.0.7", 150.0, 4, None), ("1.0.9", 96.5, 8, "2018-04-15T20:12:29.552582+00:00")],
)
def test_each_result_of_gobonniego_is_a_run_of_three_steps(version, write_s, threads, started):
    found = imported(f"imported/gobonniego-{version}.json")
    assert (found.kind, found.tool_version, len(found.runs)) == ("gobonniego", version, 2)
    first = found.runs[0]
    assert first.started_at == started
    assert [step.step.name for step in first.steps] == ["seqwrite", "seqread", "iops"]
    write, read, mixed = (step.measurements[0] for step in first.steps)
    assert write.runtime_ns == write_s * 1e9
    assert write.bytes_per_s == pytest.approx(write.bytes / write_s)
    assert {(row.jobs, row.scope) for row in (write, read, mixed)} == {(threads, "step")}
    assert (mixed.direction, mixed.block_bytes, mixed.rw) == ("mixed", 512, "randrw")


def test_jobs_of_one_group_are_one_step():
    found = imported("fio_output/v3.33-two-jobs.out", "mine.json")
    (run,) = found.runs
    assert [step.step.name for step in run.steps] == ["a+b"]
    assert found.kind == "fio-json"
    assert found.facts["fio_version"] == "fio-3.33"
    assert run.finished_at.endswith("+00:00")


def test_groups_that_ran_one_after_another_are_steps_of_their_own():
    document = json.loads((CASES / "fio_output/v3.39-two-jobs.out").read_text())
    document["jobs"][1]["groupid"] = 1
    found = read_imported(json.dumps(document).encode(), name="x")
    assert [(s.step.index, s.step.name) for s in found.runs[0].steps] == [(0, "a"), (1, "b")]
    assert found.runs[0].started_at < found.runs[0].finished_at
    assert {row.step_index for row in found.runs[0].steps[1].measurements} == {1}


def test_a_log_is_a_step_named_by_its_prefix_without_rows():
    found = read_imported(b"1, 2, 0, 0\n", name="d/web_lat.1.log")
    (step,) = found.runs[0].steps
    assert (found.kind, step.step.name, step.measurements) == ("fio-log", "web", ())


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b'{"gobonniego_directory": 1, "results": []}', "without any result"),
        (b'{"gobonniego_directory": 1, "results": [3]}', r"results\[0\] is not an object"),
        (b'{"gobonniego_directory": 1, "results": [{}]}', "write_seconds"),
        (b'{"gobonniego_directory"', "not readable as JSON"),
        (b'{"fio version" : "fio-3.33"', "middle of a document"),
    ],
)
def test_what_cannot_be_imported_is_named_with_its_cause(data, cause):
    with pytest.raises(InvalidValue, match=cause) as caught:
        read_imported(data, name="some.json")
    assert caught.value.message.startswith("some.json")
    assert caught.value.exit_code == 2


def test_kinds_are_told_apart():
    assert format_of(b"", name="fio_bw.1.log").kind == "fio-log"
    assert format_of(b'{"jobs": [{"jobname": "x"}]}', name="x").kind == "fio-json"


@pytest.mark.parametrize(
    ("line", "began"),
    [
        (b"1700000001000, 3000, 0, 0, 0\n", "2023-11-14T22:13:21.000000+00:00"),
        (b"1000, 3000, 0, 0, 0\n", None),
        (b"", None),
        (b"not a log\n", None),
    ],
)
def test_a_log_with_unix_times_tells_when_it_began(line, began):
    found = read_imported(line, name="x_iops.1.log")
    assert found.runs[0].started_at == began


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no row"),
        (b"1000, 30, 0, 0, 0\n2000, 3", "line 2"),
        (b"1000, 30, 0, 0, 0\nfio: killed\n2000, 30, 0, 0, 0\n", "line 2 .*killed"),
        (b"\x00\x01", "line 1"),
    ],
)
def test_a_damaged_log_is_refused_by_its_line(data, told):
    with pytest.raises(InvalidValue, match=told):
        check_log(data, name="x_iops.1.log")


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"])
def test_a_whole_log_is_taken_however_it_ends(end):
    check_log(b"1000, 30, 0, 0, 0x0000\n2000, 31, 0, 0, 0x400a" + end, name="x_iops.1.log")


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
    found = read_imported((CASES / "imports" / name).read_bytes(), name=name)
    steps = {step.step.name: step.measurements for step in found.runs[0].steps}
    for step, printed in PRINTED[name].items():
        for row in steps[step]:
            assert {field for field in FIGURES if getattr(row, field) is not None} == printed
            assert row.did_io


def test_a_percentile_of_uncounted_ios_has_no_number_of_samples():
    data = (CASES / "imports" / "perfkitbenchmarker_results.json").read_bytes()
    (row,) = read_imported(data, name="x").runs[0].steps[0].measurements
    assert row.p50_ns is not None
    assert row.clat_samples is None


def test_a_count_that_terse_output_does_not_give_is_empty():
    """Of 1,000 KiB in a second at 123 IOPS no block size is a power of two."""
    line = (CASES / "imports" / "fio-3.33-terse3.txt").read_text().splitlines()[0].split(";")
    line[5:9] = ["1000", "1000", "123", "1000"]
    found = read_imported(";".join(line).encode(), name="x")
    row = next(r for r in found.runs[0].steps[0].measurements if r.direction == "read")
    assert (row.ios, row.bytes, row.runtime_ns) == (None, 1_024_000, 1_000_000_000)
    assert row.iops == pytest.approx(123)


def test_a_rate_of_vdbench_without_its_head_has_no_run_time():
    line = next(
        line
        for line in (CASES / "imports" / "vdbench-50407.txt").read_text().splitlines()
        if "avg_2-5" in line
    )
    (row,) = read_imported(line.encode(), name="x").runs[0].steps[0].measurements
    assert row.runtime_ns is None
    assert row.iops == pytest.approx(104.5)
