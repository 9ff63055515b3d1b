"""Names and columns of fio's logs; the lines are those of fio 3.25, 3.33 and 3.41."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.logs import layout, log_name


@pytest.mark.parametrize(
    ("name", "prefix", "kind", "job"),
    [
        ("fio_bw.1.log", "fio", "bw", 1), ("fio_clat_hist.12.log", "fio", "hist", 12),
        ("my_run_lat.3.log.zst", "my_run", "lat", 3), ("x_iops.log", "x", "iops", 0),
        ("lat.log", "", "lat", 0), ("a_slat.1.log", "a", "slat", 1),
    ],
)  # fmt: skip
def test_a_log_is_known_by_its_name(name, prefix, kind, job):
    found = log_name(name)
    assert (found.prefix, found.kind, found.job) == (prefix, kind, job)


@pytest.mark.parametrize("name", ["fio.json", "fio_bw.1.txt", "syslog.log", "flat.log", "x.log"])
def test_other_files_are_no_logs(name):
    assert log_name(name) is None


@pytest.mark.parametrize(
    ("line", "columns", "has_maximum", "averaged", "epoch"),
    [
        (b"0, 295261, 1, 4096", 4, False, False, False),
        (b"3, 295261, 0, 4096, 0", 5, False, False, False),
        (b"0, 295261, 0, 4096, 61440, 0", 6, False, False, False),
        (b"0, 279499, 0, 4096, 1024000, 0x0000, 138825", 7, False, False, False),
        (b"1000, 121055, 1, 0, 0", 5, False, True, False),
        (b"1795260050099, 122159, 0, 0, 0", 5, False, True, True),
        (b"1795260662330, 48635, 302267, 0, 0, 0", 6, True, True, True),
        (b"500, 17074, 17074, 1, 0, 0", 6, True, True, False),
    ],
)
def test_the_layout_follows_from_the_rows(line, columns, has_maximum, averaged, epoch):
    found = layout(line + b"\n" + line + b"\n" + line[:4], where="x.log")
    assert found.columns == columns == len(found.names)
    assert (found.has_maximum, found.averaged, found.epoch) == (has_maximum, averaged, epoch)


def test_an_iops_log_of_more_than_one_is_of_windows_whatever_its_block_size():
    windows, single = b"1000, 2903, 1, 4096, 0\n", b"1000, 1, 1, 4096, 0\n"
    assert layout(windows, where="x", kind="iops").averaged
    assert not layout(single, where="x", kind="iops").averaged
    assert not layout(windows, where="x", kind="bw").averaged


def test_an_empty_log_has_no_layout():
    assert layout(b"", where="x.log") is None
    assert layout(b"\n", where="x.log") is None


@pytest.mark.parametrize(
    "text", [b"hello, world, a, b\n", b"1, 2\n", b"1, 2, 7, 9, 0\n", b"1,2,0,0\n1,2\n"]
)
def test_no_log_is_named_with_its_line(text):
    with pytest.raises(FioOutputUnreadable, match=r"x\.log"):
        layout(text, where="x.log")


@given(st.binary(max_size=100))
def test_any_bytes_give_a_layout_or_a_clear_error(data):
    error = None
    try:
        layout(data, where="x.log")
    except FioOutputUnreadable as unreadable:
        error = unreadable
    assert error is None or error.message.startswith("x.log: ")
