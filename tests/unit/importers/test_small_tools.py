"""Foreign results as rows, where what a tool does not print is empty; old and contradictory outputs
of sysbench, commands of dd, and files of several tools."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.importers.fio_report import check_log
from diskbench.importers.load import read_load
from diskbench.importers.registry import format_of, others_in, read_imported

CASES = Path(__file__).parents[2] / "cases" / "imports"
OF_FIO = CASES.with_name("fio_output")


def imported(name, change=None):
    text = (CASES / name).read_text()
    return read_imported((change(text) if change else text).encode(), name=name)


def rows(found):
    return {
        (step.step.name, row.direction): row
        for run in found.runs for step in run.steps for row in step.measurements
    }  # fmt: skip


OLD = """sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 4

Extra file open flags: 16384
Block size 16Kb
Doing random read test
Operations performed:  60000 Read, 0 Write, 0 Other = 60000 Total
Read 937.5Mb  Written 0b  Total transferred 937.5Mb  (31.25Mb/sec)
 2000.00 Requests/sec executed

Test execution summary:
    total time:                          30.0000s
    per-request statistics:
         min:                                  0.01ms
         avg:                                  2.00ms
         max:                                261.41ms
"""


def test_sysbench_0_4_counts_its_operations():
    found = read_imported(OLD.encode(), name="x")
    row = rows(found)["randread", "read"]
    assert (row.ios, row.iops, row.lat_mean_ns, row.lat_max_ns) == (60_000, 2000, 2e6, 261_410_000)
    assert "direct=1" in found.runs[0].steps[0].step.job


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("read, MiB/s:                  234.89", "read, MiB/s:   500.00", "are not 500.00 MiB/s"),
        ("Block size 16KiB", "", "block size is missing"),
        ("total time: ", "time: ", "no result of sysbench"),
    ],
)
def test_sysbench_that_contradicts_itself_or_was_cut_is_refused(old, new, words):
    with pytest.raises(InvalidValue, match=words):
        imported("sysbench-1.0.20-rndrw.txt", lambda text: text.replace(old, new))


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (("fio-3.33.txt", "dd-write-4k.txt"), ["fio-text", "dd"]),
        (("dd-write-4k.txt", "hdparm-ssd.txt"), ["hdparm", "dd"]),
        (("sysbench-1.0.20-rndrw.txt", "pg_test_fsync-15.txt"), ["sysbench", "pg_test_fsync"]),
        (("fio-3.33.txt", "fio-3.33-terse3.txt"), ["fio-terse"]),
        (("fio-3.33.txt",), ["fio-text"]),
    ],
)
def test_what_another_tool_printed_into_a_file_is_read_too(names, kinds):
    data = "\n".join((CASES / name).read_text() for name in names).encode()
    first = read_imported(data, name="x")
    others, left = others_in(data, first, name="x")
    assert [one.kind for one in (first, *others)] == kinds
    assert left == ()


def doubts(found):
    return {w.code for run in found.runs for step in run.steps for w in step.warnings}


def test_what_no_disk_does_is_no_disk_whatever_tool_printed_it():
    assert doubts(imported("hdparm-ssd.txt")) == {"not-a-disk"}, "-T reads the page cache"
    assert doubts(imported("sysbench-1.0.20-rndrw.txt")) == {"maybe-memory"}, "buffered reads"
    assert doubts(imported("elbencho-3.1.csv")) == doubts(imported("yabs-2026.json")) == set()
    fast = imported("yabs-2026.json", lambda text: text.replace("2130000,", "499000000000,"))
    assert doubts(fast) == {"not-a-disk"}


@pytest.mark.parametrize(
    ("command", "codes", "depth"),
    [
        ("$ dd if=/dev/zero of=/dev/null bs=4M count=256", ["not-a-disk"], None),
        ("$ dd if=/dev/urandom of=/dev/shm/x bs=4M count=256", ["not-a-disk"], None),
        ("$ sudo dd if=/dev/zero of=/swapfile bs=1G count=1", ["maybe-memory"], None),
        ("$ dd if=/dev/zero of=f bs=1M count=1024 conv=sync,notrunc", ["maybe-memory"], None),
        ("$ dd if=/dev/zero of=f bs=1M count=1024 oflag=direct", [], 1),
        ("$ dd if=/dev/zero of=f bs=1M count=1024 oflag=dsync", [], 1),
        ("$ dd if=/dev/zero of=f bs=1M count=1024 conv=fdatasync,notrunc", [], None),
        ("$ dd if=/dev/sda of=/dev/null bs=1M count=1024", [], None),
        ("$ dd if=f of=/dev/null bs=1M", ["maybe-memory"], None),
        ("$ dd if=f of=/dev/null bs=1M iflag=direct", [], 1),
        ("", ["maybe-memory"], None),
    ],
)
def test_the_command_of_dd_says_whether_a_disk_took_part(command, codes, depth):
    said = f"{command}\n1024+0 records out\n1073741824 bytes (1.1 GB) copied, 5.3 s, 201 MB/s\n"
    (run,) = read_imported(said.encode(), name="x").runs
    assert [warning.code for warning in run.steps[0].warnings] == codes
    assert run.steps[0].measurements[0].iodepth == depth


@pytest.mark.parametrize("end", ["\n", "\r"])
def test_the_progress_of_dd_is_no_result_and_its_command_says_the_block(end):
    lines = [
        "$ dd if=/dev/zero of=f oflag=direct bs=4M count=2560 status=progress",
        "4869586944 bytes (4.9 GB, 4.5 GiB) copied, 3 s, 1.6 GB/s",
        "9739173888 bytes (9.7 GB, 9.1 GiB) copied, 5 s, 1.9 GB/s",
        "10737418240 bytes (11 GB, 10 GiB) copied, 5.5149 s, 1.9 GB/s",
    ]
    (run,) = read_imported(end.join(lines).encode(), name="x").runs
    (row,) = [row for step in run.steps for row in step.measurements]
    assert (row.bytes, row.ios, row.block_bytes) == (10_737_418_240, 2560, 4 * 2**20)
    assert (row.direction, row.iodepth) == ("write", 1)


def test_hdparm_rounds_its_seconds_and_reads_a_drives_own_cache_with_direct():
    said = (
        " Timing buffer-cache reads:   128 MB in  0.11 seconds =1120.07 MB/sec\n"
        " Timing O_DIRECT cached reads:   272 MB in  2.01 seconds = 135.20 MB/sec\n"
        " Timing O_DIRECT disk reads: 432 MB in  3.01 seconds = 143.71 MB/sec\n"
    )
    (run,) = read_imported(said.encode(), name="x").runs
    told = [[warning.code for warning in step.warnings] for step in run.steps]
    assert told == [["not-a-disk"], ["maybe-memory"], []]


def test_what_an_e_mail_quotes_is_read_without_its_marks():
    plain = "$ dd if=f of=/dev/null\n1024+0 records out\n1073741824 bytes copied, 23 s, 46 MB/s\n"
    quoted = "".join(f"> {line}\n" for line in [*plain.splitlines(), "", "SDR104 mode:"])
    one, two = (read_imported(text.encode(), name="x") for text in (plain, quoted))
    assert one.runs == two.runs


# --- Groups, logs, and what is empty


def test_jobs_of_one_group_are_one_step_and_groups_one_after_another_are_steps():
    found = read_imported((OF_FIO / "v3.33-two-jobs.out").read_bytes(), name="mine.json")
    (run,) = found.runs
    assert [step.step.name for step in run.steps] == ["a+b"]
    assert (found.kind, found.facts["fio_version"]) == ("fio-json", "fio-3.33")
    assert run.finished_at.endswith("+00:00")
    document = json.loads((OF_FIO / "v3.39-two-jobs.out").read_text())
    document["jobs"][1]["groupid"] = 1
    found = read_imported(json.dumps(document).encode(), name="x")
    assert [(s.step.index, s.step.name) for s in found.runs[0].steps] == [(0, "a"), (1, "b")]
    assert found.runs[0].started_at < found.runs[0].finished_at
    assert {row.step_index for row in found.runs[0].steps[1].measurements} == {1}


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


def test_kinds_are_told_apart_and_a_log_is_a_step_named_by_its_prefix_begun_at_its_unix_times():
    found = read_imported(b"1, 2, 0, 0\n", name="d/web_lat.1.log")
    (step,) = found.runs[0].steps
    assert (found.kind, step.step.name, step.measurements) == ("fio-log", "web", ())
    assert format_of(b"", name="fio_bw.1.log").kind == "fio-log"
    assert format_of(b'{"jobs": [{"jobname": "x"}]}', name="x").kind == "fio-json"
    dated = b"1700000001000, 3000, 0, 0, 0\n"
    for line in (dated, b"1000, 3000, 0, 0, 0\n", b"", b"not a log\n"):
        began = "2023-11-14T22:13:21.000000+00:00" if line == dated else None
        assert read_imported(line, name="x_iops.1.log").runs[0].started_at == began


def test_a_damaged_log_is_refused_by_its_line_and_a_whole_one_taken_however_it_ends():
    row = b"1000, 30, 0, 0, 0\n"
    damaged = {b"": "no row", b"\x00\x01": "line 1", row + b"2000, 3": "line 2"}
    for data, told in {**damaged, row + b"fio: killed\n" + row: "line 2 .*killed"}.items():
        with pytest.raises(InvalidValue, match=told):
            check_log(data, name="x_iops.1.log")
    for end in (b"", b"\n", b"\r\n", b"\n\n"):
        check_log(b"1000, 30, 0, 0, 0x0000\n2000, 31, 0, 0, 0x400a" + end, name="x_iops.1.log")


def test_what_terse_output_and_vdbench_without_its_head_do_not_give_is_empty():
    lines = (CASES / "vdbench-50407.txt").read_text().splitlines()
    line = next(line for line in lines if "avg_2-5" in line)
    (row,) = read_imported(line.encode(), name="x").runs[0].steps[0].measurements
    assert (row.runtime_ns, row.iops) == (None, pytest.approx(104.5))
    # Of 1,000 KiB in a second at 123 IOPS no block size is a power of two.
    line = (CASES / "fio-3.33-terse3.txt").read_text().splitlines()[0].split(";")
    line[5:9] = ["1000", "1000", "123", "1000"]
    found = read_imported(";".join(line).encode(), name="x")
    row = next(r for r in found.runs[0].steps[0].measurements if r.direction == "read")
    assert (row.ios, row.bytes, row.runtime_ns) == (None, 1_024_000, 1_000_000_000)
    assert row.iops == pytest.approx(123)


# iostat, sar and sadf were recorded here with sysstat 12.6.1; the summary of blkparse is from a
# public bug report; the CSVs are written as the consoles name their metrics.
LOADS = Path(__file__).parents[2] / "cases/loads"


def load(name, **chosen):
    return read_load((LOADS / name).read_bytes(), name, **chosen)


def rates(recorded):
    of = ("reads", "writes", "read_bytes", "write_bytes")
    return [(s.seconds, *(round(getattr(s, name)) for name in of)) for s in recorded.samples]


def test_iostat_as_text_is_read_without_its_first_report_in_any_unit():
    found = load("iostat.txt", device="vda")
    assert rates(found)[0] == (1.0, 788, 333, 25_448_448, 10_960_896)
    assert len(found.samples) == 3
    assert found.is_dated
    assert "since boot" in found.notes[0]
    assert rates(load("iostat-iso-m.txt", device="vda"))[1] == (1.0, 1571, 8, 55_029_268, 429_916)


def test_iostat_as_json_is_read_and_also_where_it_was_interrupted():
    whole = load("iostat.json", device="vda")
    assert rates(whole)[0] == (1.0, 638, 160, 24_211_456, 356_352)
    text = (LOADS / "iostat.json").read_text()
    killed = text[: text.rindex('"disk_device"')]
    assert read_load(killed.encode(), "killed", device="vda").samples == whole.samples[:2]


def test_sar_and_sadf_agree_share_ios_by_bytes_and_go_past_midnight():
    sar, sadf = load("sar.txt", device="vda"), load("sadf.csv", device="vda")
    assert rates(sar) == rates(sadf)
    assert sar.samples[0].ios == pytest.approx(1918)
    assert sar.samples[0].reads / 1918 == pytest.approx(118_012 / (118_012 + 564))
    head = "Linux 6.1 (db) \t11/16/2026 \t_x86_64_\t(2 CPU)\n\n"
    columns = "11:50:01 PM       DEV       tps     rkB/s     wkB/s\n"
    rows = "11:55:01 PM  sda  100.00  400.00  0.00\n12:00:01 AM  sda  200.00  800.00  0.00\n"
    found = read_load((head + columns + rows + "Average: sda 150 600 0\n").encode(), "sar")
    assert rates(found) == [(300.0, 100, 0, 409_600, 0), (300.0, 200, 0, 819_200, 0)]


def test_metrics_of_azure_are_rates_sums_of_cloudwatch_become_them_and_averages_are_refused():
    found = load("cloudwatch.csv")
    assert rates(found)[0] == (300.0, 1000, 500, 4_096_000, 8_192_000)
    assert found.notes == ("sums of 300 s",)
    text = (LOADS / "cloudwatch.csv").read_text().replace("Sum,", "Average,")
    with pytest.raises(InvalidValue, match="the metrics are of the statistic Average"):
        read_load(text.encode(), "x.csv")
    assert rates(load("azure.csv"))[1] == (60.0, 2000, 500, 8_192_000, 8_192_000)


def test_the_summary_of_blkparse_is_one_rate_and_a_gap_is_left_out():
    (sample,) = load("blkparse.txt").samples
    assert sample.seconds == pytest.approx(59.98, abs=0.01)
    assert sample.writes == pytest.approx(5380 / 59.98, rel=1e-3)
    rows = ["Time,read_iops,read_bytes_per_sec"]
    rows += [f"2026-11-16 {h:02}:00:00,100,409600" for h in (0, 1, 2, 9, 10)]
    assert read_load("\n".join(rows).encode(), "x.csv").seconds == 5 * 3600


def test_a_fio_log_of_ios_counts_them_by_the_second_and_one_of_windows_needs_its_block():
    lines = [f"{at}, 1, 0, 4096, 0" for at in (0, 10, 990, 1500)] + ["3100, 1, 1, 8192, 0"]
    found = read_load("\n".join(lines).encode(), "x_lat.1.log")
    assert rates(found) == [
        (1.0, 3, 0, 12_288, 0), (1.0, 1, 0, 4096, 0), (1.0, 0, 0, 0, 0), (1.0, 0, 1, 0, 8192),
    ]  # fmt: skip
    assert not found.is_dated
    text = b"1000, 500, 0, 0, 0\n1000, 100, 1, 0, 0\n2000, 700, 0, 0, 0\n"
    with pytest.raises(InvalidValue, match="either I/Os or bytes"):
        read_load(text, "x_iops.1.log")
    found = read_load(text, "x_iops.1.log", block=8192)
    assert rates(found) == [(1.0, 500, 100, 4_096_000, 819_200), (1.0, 700, 0, 5_734_400, 0)]


def test_a_file_of_several_busy_disks_asks_which_one_and_refuses_what_is_not_there():
    head = "Device r/s rkB/s w/s wkB/s\n"
    reports = [f"2026-11-16T00:0{n}:00+0000\n{head}sda 60 240 40 16\nsdb 7 28 0 0\n" for n in "012"]
    with pytest.raises(InvalidValue) as refused:
        read_load("".join(reports).encode(), "two.txt")
    assert refused.value.message == "two.txt has I/O of 2 devices: sda (100 IOPS), sdb (7 IOPS)"
    assert refused.value.advice == "name one with --device"
    with pytest.raises(UnknownName):
        load("iostat.txt", device="sdz")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "not a recorded load"),
        (b"hello\n", "not a recorded load"),
        (b"Device r/s w/s rkB/s wkB/s\nsda 1 1 1 1\n", "iostat recorded no times"),
        (b"{}", "cannot be read as a recorded load"),
        (b"Time,read_iops\n2026-11-16 00:00:00,1\n", "fewer than two timestamps"),
        (b"Time,read_iops\n2026-11-16 00:00:00,1\n2026-11-16 00:01:00,1\n", "only I/Os"),
    ],
)
def test_what_cannot_be_read_says_why(text, said):
    with pytest.raises(InvalidValue) as refused:
        read_load(text, "x")
    assert said in refused.value.message
    assert refused.value.advice


@given(st.sampled_from(sorted(path.name for path in LOADS.iterdir())), st.data())
def test_a_damaged_file_is_read_or_refused_in_words(name, data):
    whole = (LOADS / name).read_bytes()
    begin = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, 300))
    middle = data.draw(st.binary(max_size=12))
    try:
        found = read_load(whole[:begin] + middle + whole[begin + length :], name, block=4096)
    except UserError:
        return
    assert all(sample.seconds > 0 and sample.ios >= 0 for sample in found.samples)


@given(st.lists(st.tuples(st.integers(0, 9999), st.integers(0, 9999)), min_size=2, max_size=30))
def test_what_iostat_says_is_what_is_read(reports):
    stats = [
        {
            "timestamp": f"11/16/26 00:{n:02}:00",
            "disk": [{"disk_device": "sda", "r/s": r, "w/s": w, "rkB/s": 4 * r, "wkB/s": 8 * w}],
        }
        for n, (r, w) in enumerate(reports)
    ]
    text = json.dumps({"sysstat": {"hosts": [{"statistics": stats}]}})
    if not any(r + w for r, w in reports[1:]):
        with pytest.raises(InvalidValue, match="no I/O of sda"):
            read_load(text.encode(), "x.json", device="sda")
        return
    found = read_load(text.encode(), "x.json", device="sda")
    assert rates(found) == [(60.0, r, w, 4096 * r, 8192 * w) for r, w in reports[1:]]
