"""A window that fio logged late is no stall, and a stall is no late window."""

import pytest
from tests.unit.store.test_series import column, lines, series

from diskbench.analysis.phases import step_phases
from diskbench.fio.reported import Total

AT = [s for s in range(1, 121) if s not in (50, 51, 52)]
"""Seconds with a row: that of second 53 comes three seconds after the one before it."""
RATES = lines([(s * 1000, 1000, 0, 0) for s in AT])
BYTES = lines([(s * 1000, 4000, 0, 0) for s in AT])


def logs(latencies=None):
    found = {"x_iops.1.log": RATES, "x_bw.1.log": BYTES}
    if latencies is not None:
        found["x_lat.1.log"] = lines([(s * 1000, 900_000, 0, 0) for s in latencies])
    return found


def total(seconds):
    return {"read": Total(seconds * 1000, seconds * 4000 * 1024, 120.0)}


def stalled(rows):
    import numpy as np

    found = np.array(column(rows, "iops"))
    return [(one.start_s, one.end_s) for one in step_phases(found, found * 4096).stalls]


def test_a_gap_in_which_ios_completed_is_a_late_window(tmp_path):
    rows = series(tmp_path, logs(latencies=range(1, 121)))
    assert column(rows, "iops") == [1000] * 120
    assert column(rows, "bytes_per_s") == [4000 * 1024] * 120
    assert stalled(rows) == []


def test_a_first_row_that_came_late_stands_for_all_seconds_in_which_ios_completed(tmp_path):
    """fio's helper, kept from looking, begins the log of a busy machine some seconds late."""
    late = range(4, 121)
    rates = {
        "x_iops.1.log": lines([(s * 1000, 1000, 0, 0) for s in late]),
        "x_bw.1.log": lines([(s * 1000, 4000, 0, 0) for s in late]),
    }
    latencies = lines([(s * 1000, 900_000, 0, 0) for s in range(1, 121)])
    rows = series(tmp_path, rates | {"x_lat.1.log": latencies}, total(120))
    assert column(rows, "iops") == [1000] * 120
    assert column(rows, "bytes_per_s") == [4000 * 1024] * 120


def test_a_first_row_after_seconds_in_which_nothing_completed_stands_for_its_own(tmp_path):
    late = lines([(s * 1000, 1000, 0, 0) for s in range(4, 121)])
    rows = series(tmp_path, {"x_iops.1.log": late, "x_lat.1.log": late}, total(117))
    assert sum(column(rows, "iops")) == 117_000


def test_a_gap_in_which_none_did_is_a_stall(tmp_path):
    rows = series(tmp_path, logs(latencies=AT), total(117))
    assert column(rows, "iops") == [1000] * 49 + [0] * 3 + [1000] * 68
    assert stalled(rows) == [(49, 52)]


@pytest.mark.parametrize(("seconds", "found"), [(120, []), (117, [(49, 52)])])
def test_without_latencies_the_counts_of_fio_tell(tmp_path, seconds, found):
    rows = series(tmp_path, logs(), total(seconds))
    assert stalled(rows) == found
    assert sum(column(rows, "iops")) == pytest.approx(seconds * 1000, rel=0.01)


def test_with_nothing_else_known_a_gap_is_a_stall(tmp_path):
    assert stalled(series(tmp_path, logs())) == [(49, 52)]


def test_a_tail_that_was_not_logged_is_no_late_window(tmp_path):
    """Three seconds stalled, and fio left three out at the end: that does not make them I/O."""
    at = [s for s in AT if s <= 117]
    rates = lines([(s * 1000, 1000, 0, 0) for s in at])
    rows = series(tmp_path, {"x_iops.1.log": rates}, total(117))
    assert stalled(rows) == [(49, 52)]
