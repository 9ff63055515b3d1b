"""Numbers in foreign results that no disk reaches: refused in words, or left out."""

import json
from pathlib import Path

import pytest

from diskbench.errors import FioOutputUnreadable, InvalidValue
from diskbench.fio.logs import layout
from diskbench.importers.registry import read_imported
from diskbench.limits import COUNTER, JOBS

CASES = Path(__file__).parents[2] / "cases"


def gobonniego():
    return json.loads((CASES / "imported" / "gobonniego-1.0.9.json").read_text())


def fio():
    text = (CASES / "fio_output" / "v3.25-group.out").read_text()
    return json.loads(text[text.index("{") :])


def read(document):
    data = json.dumps(document).encode()
    return read_imported(data, name="x.json", run_id_of=lambda index: f"run{index}")


@pytest.mark.parametrize("threads", [10**300, JOBS + 1, -1, True, 1e400, float("nan")])
def test_an_impossible_number_of_threads_is_left_out(threads):
    document = gobonniego() | {"num_readers_and_writers": threads}
    assert read(document).runs[0].steps[0].measurements[0].jobs == 1


@pytest.mark.parametrize("value", [10**300, float("inf"), float("nan"), -1, True, "8"])
@pytest.mark.parametrize("key", ["physical_memory_bytes", "iops_duration_seconds"])
def test_an_impossible_fact_is_left_out(key, value):
    assert key not in read(gobonniego() | {key: value}).facts


def test_more_operations_than_a_database_holds_bytes_of_are_refused():
    document = gobonniego()
    document["results"][0]["io_operations"] = COUNTER // 512 + 1
    with pytest.raises(InvalidValue, match="more than any disk does"):
        read(document)


@pytest.mark.parametrize("key", ["write_seconds", "read_seconds", "io_seconds"])
@pytest.mark.parametrize("seconds", [1e-9, 4e8])
def test_a_time_in_which_no_disk_does_so_much_is_refused(key, seconds):
    document = gobonniego()
    document["results"][0][key] = seconds
    with pytest.raises(InvalidValue, match=key.partition("_")[0]):
        read(document)


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_beyond_all_calendars_is_refused(time):
    document = gobonniego()
    document["results"][0]["start_time"] = time
    with pytest.raises(InvalidValue, match="is not a time"):
        read(document)


@pytest.mark.parametrize("value", [10**30, 10**400, -(10**400), 2**63, -1])
@pytest.mark.parametrize("key", ["total_ios", "runtime", "short_ios", "drop_ios"])
def test_a_count_that_no_database_holds_is_refused(key, value):
    document = fio()
    document["jobs"][0]["read"][key] = value
    with pytest.raises(InvalidValue, match="not a count") as told:
        read(document)
    assert len(str(told.value)) < 300


@pytest.mark.parametrize("value", ["9" * 5000, [1] * 5000, {"a": "x" * 5000}])
def test_a_value_of_another_kind_is_told_by_its_beginning(value):
    document = fio()
    document["jobs"][0]["read"]["total_ios"] = value
    with pytest.raises(InvalidValue, match="not a number") as told:
        read(document)
    assert len(str(told.value)) < 300


def test_samples_that_together_pass_any_count_are_refused():
    document = fio()
    bins = document["jobs"][0]["write"]["lat_ns"]["bins"]
    bins.update(dict.fromkeys(bins, COUNTER))
    with pytest.raises((InvalidValue, FioOutputUnreadable), match="together count"):
        read(document)


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 20, str(2**63)])
def test_a_log_with_a_number_that_no_database_holds_is_refused(number):
    with pytest.raises(FioOutputUnreadable, match="line 2 is not a row of a fio log"):
        layout(f"1, 1, 0, 4096\n{number}, 1, 0, 4096\n".encode(), where="x_lat.1.log")
