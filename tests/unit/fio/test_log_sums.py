"""The sums of a step's logs by Python alone are those over its series, which SQL makes."""

import tempfile
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rigs.searching import examples

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.log_rows import log_rows
from diskbench.fio.log_sums import log_sums
from diskbench.fio.reported import Total
from diskbench.store.series import write_series


def by_python(logs, totals):
    rows = [log_rows(name, text.encode()) for name, text in sorted(logs.items())]
    return log_sums([one for one in rows if one], totals)


def by_sql(logs, totals):
    """The sums over the series, with a last second that lasts as long as fio ran in it."""
    with tempfile.TemporaryDirectory() as place:
        for name, text in logs.items():
            Path(place, name).write_text(text)
        target = Path(place, "series.parquet")
        write_series(sorted(Path(place).glob("*.log")), target, totals=totals)
        rows = (
            duckdb.read_parquet(str(target))
            .project("second, direction, iops, bytes_per_s")
            .fetchall()
        )
    sums = {}
    for second, direction, *rates in rows:
        if direction not in totals:
            continue
        length = min(max(totals[direction].runtime_s - second, 0.0), 1.0)
        for column, rate in zip(("iops", "bytes_per_s"), rates, strict=True):
            if rate is not None:
                key = (direction, column)
                sums[key] = sums.get(key, 0.0) + rate * length
    return sums


def lines(rows, tail="0"):
    return "".join(f"{time}, {value}, {way}, {size}, {tail}\n" for time, value, way, size in rows)


ways = st.integers(min_value=0, max_value=2)
gap = st.one_of(
    st.integers(min_value=990, max_value=1010),
    st.integers(min_value=0, max_value=400),
    st.sampled_from([500, 2000, 3001, 5000, 9000]),
)
usual_gap = st.sampled_from([100, 500, 1000, 1000, 1000, 5000])


@st.composite
def averaged(draw):
    """A log of windows, with late ones, several in a second, and stalls."""
    usual = draw(usual_gap)
    way = draw(ways)
    time = draw(st.integers(min_value=0, max_value=1500))
    rows = []
    for _ in range(draw(st.integers(min_value=1, max_value=12))):
        time += draw(gap) if draw(st.integers(min_value=0, max_value=4)) == 0 else usual
        # fio never writes two windows of one job and direction at the same ms with other values
        if not rows or rows[-1][0] != time:
            rows.append((time, draw(st.integers(min_value=0, max_value=5000)), way, 0))
    return rows


@st.composite
def single(draw):
    """A log with a row an I/O."""
    time = draw(st.integers(min_value=0, max_value=1500))
    rows = []
    for _ in range(draw(st.integers(min_value=1, max_value=30))):
        time += draw(st.integers(min_value=0, max_value=600))
        rows.append((time, draw(st.integers(1, 10**9)), draw(ways), draw(st.integers(1, 64)) * 512))
    return rows


@st.composite
def step_logs(draw):
    shift = draw(st.sampled_from([0, 0, 1_700_000_000_123]))
    logs = {}
    for kind in draw(st.lists(st.sampled_from(["bw", "iops", "lat", "clat"]), unique=True)):
        of_windows = draw(st.booleans()) or kind in {"bw", "iops"}
        for job in range(1, draw(st.integers(min_value=1, max_value=3)) + 1):
            rows = draw(averaged() if of_windows else single())
            logs[f"x_{kind}.{job}.log"] = lines([(time + shift, *row) for time, *row in rows])
    return logs


total = st.builds(
    Total,
    ios=st.integers(min_value=0, max_value=80_000),
    bytes=st.integers(min_value=0, max_value=400_000_000),
    runtime_s=st.floats(min_value=0.001, max_value=40.0),
)


@pytest.mark.slow
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
@given(
    logs=step_logs(),
    totals=st.dictionaries(st.sampled_from(["read", "write", "trim"]), total, min_size=1),
)
def test_the_sums_are_those_over_the_series(logs, totals):
    assert by_python(logs, totals) == pytest.approx(by_sql(logs, totals), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("tail", ["0", "0x0001", "4096, 0"])
def test_columns_that_nothing_reads_may_hold_anything(tail):
    logs = {"x_lat.1.log": lines([(at * 10, 5, 0, 4096) for at in range(100)], tail=tail)}
    totals = {"read": Total(100, 409_600, 1.0)}
    assert by_python(logs, totals) == pytest.approx(by_sql(logs, totals))


def test_a_maximum_beside_the_value_is_not_the_direction():
    rows = "".join(f"{at * 1000}, 50, 90, 1, 0, 0\n" for at in range(1, 6))
    logs = {"x_iops.1.log": rows}
    totals = {"write": Total(250, 0, 5.0)}
    assert by_python(logs, totals) == {("write", "iops"): pytest.approx(250)}
    assert by_python(logs, totals) == pytest.approx(by_sql(logs, totals))


@pytest.mark.parametrize(
    "damaged",
    ["1000, 5", "1000, 5, 0, 0", "x, 5, 0, 0, 0", "1, 1.5, 0, 0, 0", "9" * 20 + ", 1, 0, 0, 0"],
)
def test_a_damaged_row_is_refused_with_its_place(damaged):
    data = (lines([(1, 5, 0, 0)] * 2000) + damaged + "\n").encode()
    with pytest.raises(FioOutputUnreadable) as refused:
        log_rows("x_bw.1.log", data)
    assert "x_bw.1.log: line 2001 " in refused.value.message


def test_a_time_of_years_is_refused_by_both():
    logs = {"x_iops.1.log": lines([(1000, 5, 0, 0), (10**10, 5, 0, 0)])}
    for sums in (by_python, by_sql):
        with pytest.raises(FioOutputUnreadable):
            sums(logs, {"read": Total(10, 0, 2.0)})


def test_what_is_no_value_log_has_no_rows():
    assert log_rows("x_clat_hist.1.log", b"1000, 0, 4096, 1, 2\n") is None
    assert log_rows("fio.json", b"{}") is None
    assert log_rows("x_bw.1.log", b"") is None
