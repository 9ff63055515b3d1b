"""Damaged and hostile files and numbers: each parser ends soon, in little memory, and believes no
nonsense.
"""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.rigs.searching import examples

from diskbench.errors import FioOutputUnreadable, InvalidValue
from diskbench.fio.logs import layout
from diskbench.importers.registry import FORMATS, read_imported
from diskbench.limits import COUNTER, JOBS

CASES = Path(__file__).parents[2] / "cases/imports"
FILES = [
    *sorted(path for path in CASES.iterdir() if path.is_file() and path.suffix != ".md"),
    *sorted(CASES.with_name("imported").glob("gobonniego*.json")),
]
ENCODINGS = ("utf-16", "utf-16-be", "utf-32", "utf-7", "utf-8-sig", "cp037", "cp1252")
NUMBERS = ["nan", "inf", "-1", "9" * 30, "1e400", "1e308", "-0", "0x10", "0", "1e-300", "²", "٣"]
MEMORY = 300 * 2**20


def trusted(data, name="x"):
    """Read; every row must be one that a disk could give. Returns the rows, None if refused."""
    try:
        found = read_imported(data, name=name)
    except InvalidValue as error:
        refused = error
    else:
        refused = None
    if refused is not None:
        assert refused.exit_code == 2
        assert len(refused.message) < 2000
        return None
    assert found.runs
    rows = [row for run in found.runs for step in run.steps for row in step.measurements]
    for row in rows:
        for field, value in row:
            if isinstance(value, float):
                assert math.isfinite(value), field
                assert value >= 0, field
            elif isinstance(value, int) and not isinstance(value, bool):
                assert 0 <= value <= COUNTER or field == "job_index", field
        assert 0 <= max(row.bytes_per_s or 0, row.iops or 0) <= 1e15, "no storage is so fast"
    return rows


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_read_and_cut_anywhere_or_in_another_encoding_refused_or_believable(path):
    data = path.read_bytes()
    assert trusted(data, path.name)
    for encoding in ENCODINGS:
        trusted(data.decode().encode(encoding, errors="replace"), path.name)
    for at in range(0, len(data), max(len(data) // 60, 1)):
        trusted(data[:at], path.name)
        trusted(data[at:], path.name)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from(FILES),
    st.floats(0, 1),
    st.one_of(st.binary(max_size=8), st.sampled_from(NUMBERS).map(str.encode)),
    st.integers(0, 12),
)
def test_damage_anywhere_is_refused_or_believable(path, where, garbage, length):
    data = path.read_bytes()
    at = int(len(data) * where)
    trusted(data[:at] + garbage + data[at + length :], path.name)


@settings(max_examples=examples(300), deadline=None)
@example(CASES / "perfkitbenchmarker_results.json", 0, "1e308")
@example(CASES / "fio-2.0.15-terse.txt", 1, "²")
@given(st.sampled_from(FILES), st.integers(0, 400), st.sampled_from(NUMBERS))
def test_any_number_replaced_is_refused_or_believable(path, which, number):
    text = path.read_bytes().decode()
    found = list(re.finditer(r"\d+(?:\.\d+)?", text))
    match = found[which % len(found)]
    trusted((text[: match.start()] + number + text[match.end() :]).encode(), path.name)


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(FILES), st.integers(2, 6), st.floats(0, 1))
def test_a_file_repeated_or_followed_by_a_part_of_itself_is_refused_or_right(path, times, share):
    data = path.read_bytes()
    trusted(data * times, path.name)
    trusted(data + data[: int(len(data) * share)], path.name)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=2000))
def test_bytes_are_refused_or_believable(data):
    trusted(data)


LAUGHS = f'a "ha"><!ENTITY b "{"&a;" * 10}"'


@pytest.mark.parametrize("entity", ['x SYSTEM "file:///etc/passwd"', LAUGHS])
def test_xml_that_declares_entities_is_refused(entity):
    declaration, text = f"<!DOCTYPE r [<!ENTITY {entity}>]>", (CASES / "diskspd.xml").read_text()
    inside = text.replace("<Results>", f"<Results>{declaration}", 1).replace("d.dat", "&x;")
    assert trusted(inside.encode()) is None
    before = f"<?xml version='1.0'?>{declaration}{text}".replace("d.dat", "&x;")
    assert trusted(before.encode()) is None


def bins(count):
    head = b'{"fio version":"fio-3","jobs":[{"jobname":"a","read":{"lat_ns":{"bins":{'
    return head + b",".join(b'"%d":1' % at for at in range(count)) + b"}}}}]}"


HOSTILE = {
    "deep-xml": lambda: b"<Results><TestTimeSeconds>" + b"<a>" * 4_000_000,
    "deep-json": lambda: b'{"metric": "a", "run_uri": "b", "labels": ' + b"[" * 8_000_000,
    "thread-heads": lambda: b"Results for timespan 1:\n" + b"Read IO\nthread | a\n" * 400_000,
    "dd-lines": lambda: b"1 bytes copied, 1 s\n" * 700_000,
    "blank-lines": lambda: b"1 bytes (1 B) copied, 1 s, 1 B/s\n" + b"\n" * 15_000_000,
    "spaces": lambda: (
        b"Version 2.00a  ------Sequential Output------\na" + b" " * 15_000_000 + b"1G x\n"
    ),
    "terse": lambda: b"3;fio-3.33;a;0;0;" + b"0;" * 7_000_000,
    "text": lambda: b"a: (groupid=0, jobs=1): err= 0: pid=1:\n" * 350_000,
    "vdbench": lambda: b"avg_1-5 1 1 1 1 1\n" * 800_000,
    "hdparm": lambda: b"Timing cached reads: 1 MB in  1.00 seconds = 1.00 MB/sec\n" * 250_000,
    "bonnie": lambda: b"a,1G" + b",1" * 7_000_000,
    "nothing": lambda: b"\xff\xfe" * 8_000_000,
    "fio-lists": lambda: b'{"fio version":"fio-3.33","jobs":[' + b"[]," * 2 * 10**7 + b"1]}",
    "fio-bins": lambda: bins(2_000_000),
    "fio-bins-read": lambda: bins(690_000),
    "gobonniego": lambda: b'{"gobonniego_directory":1,"results":[' + b"[]," * 2 * 10**7 + b"1]}",
    "perfkit": lambda: b'{"metric":"a","run_uri":"b","labels":[' + b"[]," * 5 * 10**6 + b"1]}",
    "one-line": lambda: b"x" * (100 * 2**20),
    "one-number": lambda: b"1" * (100 * 2**20),
    "one-terse-line": lambda: b"3;fio-3.33;" + b"9" * (100 * 2**20),
    "sums-of-clients": lambda: (
        b"All clients: (groupid=0, jobs=1): err= 0: pid=0:\n"
        b"  read: IOPS=1, BW=1Ki (1k)(1KiB/1msec)\n" * 150_000
    ),
    "text-runs": lambda: b"".join(
        b"a: (groupid=0, jobs=1): err= 0: pid=%d:\n"
        b"  read: IOPS=1, BW=1KiB/s (1kB/s)(1KiB/1000msec)\nRun status group 0 (all jobs):\n" % at
        for at in range(100_000)
    ),
    "perfkit-one-list": lambda: b'[{"metric":"a","run_uri":"b"},' + b"[" * 8_000_000,
    "perfkit-runs": lambda: b"\n".join(
        b'{"metric":"a:read:iops","value":1,"run_uri":"%d"}' % at for at in range(200_000)
    ),
}
"""Made by the test that reads them: together they take 750 MB."""


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_ends_soon_and_takes_little_memory(name, tmp_path):
    (tmp_path / "x").write_bytes(HOSTILE[name]())
    code = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from diskbench.errors import InvalidValue\n"
        "from diskbench.importers.registry import read_imported\n"
        "try:\n"
        "    read_imported(Path(sys.argv[1]).read_bytes(), name='x')\n"
        "    print('read')\n"
        "except InvalidValue:\n"
        "    print('refused')\n"
        # Of this program: ru_maxrss would count what the test's process had before it was replaced.
        "peak = re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())\n"
        "print(int(peak[1]) * 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x")],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    end, memory = done.stdout.split()
    assert end == ("read" if name in ("blank-lines", "fio-bins-read") else "refused")
    assert int(memory) < MEMORY


def test_every_format_names_itself_and_is_listed_in_a_refusal():
    with pytest.raises(InvalidValue) as told:
        read_imported(b"bought on Tuesday", name="x")
    for one in FORMATS:
        assert one.words in told.value.advice


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"fio-2.1\nStarting 1 process\n", "fio's text of version 2.1, without results"),
        (b"2;a;0;0;1;2;3", "terse output of version 2"),
        (b"[global]\nrw=read\n[a]\n", "a job file of fio"),
        (b"Version 2.00a    ------Sequential Output------\n", "bonnie++'s table, without figures"),
        (b"\x7fELF\x00\x01\x02\x00\x00\x00", "a binary file"),
        (b"", "an empty file"),
        (b'{"a": 1}', "JSON of an unknown tool"),
        (b"\tIozone: Performance Test of File I/O\n", "iozone's output"),
        (b"<!DOCTYPE html><html></html>", "a web page"),
        (b"x bought", "text of an unknown tool; it begins 'x bought'"),
        (b"  WRITE: bw=2084MiB/s (2185MB/s), io=750GiB (806GB), run=3-3msec", "the last lines of"),
        (b"fio Disk Speed Tests (Mixed R/W 50/50):\nRead | 12.79 MB/s (3.1k)", "YABS's table"),
        (b"FIO Benchmark Summary\nIOPS (Read/Write)\n Random: 28,832", "kbench's summary"),
        (b"OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n", "elbencho's table"),
    ],
)  # fmt: skip
def test_an_unknown_file_is_described_in_a_sentence(data, words):
    with pytest.raises(InvalidValue, match="x: it looks like ") as told:
        read_imported(data, name="x")
    assert words in told.value.message


def gobonniego():
    return json.loads((CASES.with_name("imported") / "gobonniego-1.0.9.json").read_text())


def fio():
    text = (CASES.with_name("fio_output") / "v3.25-group.out").read_text()
    return json.loads(text[text.index("{") :])


def read(document):
    return read_imported(json.dumps(document).encode(), name="x.json")


@pytest.mark.parametrize("value", [10**300, float("inf"), float("nan"), -1, True, "8"])
def test_an_impossible_fact_or_number_of_threads_is_left_out(value):
    facts = dict.fromkeys(["physical_memory_bytes", "iops_duration_seconds"], value)
    assert not facts.keys() & read(gobonniego() | facts).facts.keys()
    for threads in (value, JOBS + 1):
        found = read(gobonniego() | {"num_readers_and_writers": threads})
        assert found.runs[0].steps[0].measurements[0].jobs == 1


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("io_operations", COUNTER // 512 + 1, "more than any disk does"),
        *((f"{kind}_seconds", s, kind) for kind in ("write", "read", "io") for s in (1e-9, 4e8)),
        ("start_time", "0001-01-01T00:00:00+14:00", "is not a time"),
        ("start_time", "9999-12-31T23:59:59-14:00", "is not a time"),
    ],
)
def test_more_or_sooner_than_any_disk_does_or_beyond_all_calendars_is_refused(key, value, words):
    document = gobonniego()
    document["results"][0][key] = value
    with pytest.raises(InvalidValue, match=words):
        read(document)


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
