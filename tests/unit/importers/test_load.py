"""A recorded load is read as its tool wrote it. iostat, sar and sadf were recorded here with
sysstat 12.6.1; the summary of blkparse is from a public bug report; the CSVs are written as the
consoles name their metrics."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.importers.load import read_load

CASES = Path(__file__).parents[2] / "cases/loads"


def load(name, **chosen):
    return read_load((CASES / name).read_bytes(), name, **chosen)


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
    text = (CASES / "iostat.json").read_text()
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
    text = (CASES / "cloudwatch.csv").read_text().replace("Sum,", "Average,")
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


@given(st.sampled_from(sorted(path.name for path in CASES.iterdir())), st.data())
def test_a_damaged_file_is_read_or_refused_in_words(name, data):
    whole = (CASES / name).read_bytes()
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
