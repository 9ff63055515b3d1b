"""Several reports in one file: those of one fio count once, those of several runs each."""

import json
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.fio_reports import Disk, Told, as_json, terse, text
from tests.rigs.searching import examples

from diskbench.errors import InvalidValue
from diskbench.importers.form import LONGEST_NAME, as_utf8
from diskbench.importers.registry import read_imported
from diskbench.model.spec import Step
from diskbench.store.archive import step_folder

SHORT = 1.0
LONG = 30.0


def document(name="seq", *, at=1_790_000_000.0, seconds=LONG, rate=1000, age=None, **changes):
    """What fio 3.36 writes when a job of `seconds` ends at `at`."""
    root = json.loads(as_json([Told(name=name, iops=rate, seconds=seconds, options={})]))
    root["jobs"][0]["elapsed"] = age or int(seconds + 1)
    root["jobs"][0]["read"] |= {"short_ios": 0, "drop_ios": 0}
    return root | {"timestamp": int(at), "timestamp_ms": round(at * 1000)} | changes


def imported(data, name="x.json"):
    data = data if isinstance(data, bytes) else data.encode()
    return read_imported(data, name=name)


def iops(found):
    return [round(run.steps[0].measurements[-1].iops) for run in found.runs]


def between(line, parts, **how):
    return line.join(json.dumps(part, **how) + "\n" for part in parts)


THREE = [
    document("seq", at=1_790_000_000, rate=800),
    document("rand", at=1_790_000_060, rate=2500),
    document("log", at=1_790_000_120, rate=300),
]
FORMS = {
    "one after the other": lambda parts: "".join(json.dumps(part) for part in parts),
    "one a line": lambda parts: "\n".join(map(json.dumps, parts)) + "\n",
    "a list": lambda parts: json.dumps(parts),
    "an indented list": lambda parts: json.dumps(parts, indent=2),
    "indented": lambda parts: "\n".join(json.dumps(part, indent=2) for part in parts),
    "keys in another order": lambda parts: "\n".join(json.dumps(p, sort_keys=True) for p in parts),
    "in another document": lambda parts: json.dumps({"a": 1, "tests": [{"fio": p} for p in parts]}),
    "lines between": lambda parts: between("fio: this is a note\n", parts, indent=1),
    "logs of JSON between": lambda parts: between('{"level": "info", "a": {"b": 1}}\n', parts),
}


@pytest.mark.parametrize("form", FORMS)
def test_three_runs_in_one_file_are_three_runs(form):
    found = imported(FORMS[form](THREE))
    assert iops(found) == [800, 2500, 300]
    assert [run.steps[0].step.name for run in found.runs] == ["seq", "rand", "log"]
    assert [run.finished_at[11:16] for run in found.runs] == ["14:13", "14:14", "14:15"]
    assert not any(run.reports for run in found.runs)
    said = any("text around" in note for run in found.runs for note in run.notes)
    assert said == (form in ("lines between", "logs of JSON between", "in another document"))


@pytest.mark.parametrize("form", ["one a line", "a list", "keys in another order"])
@pytest.mark.parametrize("seconds", [0.05, 0.4, SHORT, 1.4, 3, LONG])
@pytest.mark.parametrize("rates", [(1000, 1000, 1000), (1000, 1010, 1100), (1000, 900, 950)])
@pytest.mark.parametrize("age", ["kept", "left out"])
def test_the_same_job_in_a_loop_is_several_runs(form, seconds, rates, age):
    parts = [
        document(at=1_790_000_000.25 + at * (seconds + 0.4), rate=rate, seconds=seconds + at / 500)
        for at, rate in enumerate(rates)
    ]
    if age == "left out":
        for part in parts:
            del part["jobs"][0]["elapsed"]
    assert len(imported(FORMS[form](parts)).runs) == 3


@pytest.mark.parametrize("seconds", [(1, 2, 3, 3.001), (10, 20, 30, 30.004), (1, 2, 60), (5, 5)])
@pytest.mark.parametrize("age", ["kept", "left out"])
@pytest.mark.parametrize("precision", ["ms", "s"])
def test_the_reports_of_one_fio_are_one_run(seconds, age, precision):
    parts = [document(at=1_790_000_000.4 + s, seconds=s) for s in seconds]
    for part in parts:
        if age == "left out":
            del part["jobs"][0]["elapsed"]
        if precision == "s":
            del part["timestamp_ms"]
    found = imported(FORMS["indented"](parts))
    assert iops(found) == [1000]
    assert found.runs[0].steps[0].measurements[-1].ios == round(seconds[-1] * 1000)
    assert f"{len(seconds)} documents (--status-interval)" in found.runs[0].reports


def test_two_fios_that_report_into_one_file_in_turns_are_two_runs():
    ways = [(name, s) for s in (1, 2, 3) for name in ("a", "b")]
    parts = [document(n, at=1_790_000_000 + s, seconds=s) for n, s in ways]
    assert [run.steps[0].step.name for run in imported(FORMS["indented"](parts)).runs] == ["a", "b"]


def test_the_time_at_which_a_job_began_decides_and_a_ramp_starts_no_run():
    parts = [document(at=1_790_000_000 + s, seconds=s) for s in (1, 2)]
    for part in parts:
        part["jobs"][0]["job_start"] = 1_789_999_999_000
    assert len(imported(FORMS["one a line"](parts)).runs) == 1
    parts[1]["jobs"][0]["job_start"] += 1000
    assert len(imported(FORMS["one a line"](parts)).runs) == 2
    parts = [document(at=1_790_000_000 + s, seconds=s, age=s) for s in (5, 10)]
    parts += [document(at=1_790_000_010 + s, seconds=s, age=10 + s) for s in (1, 5)]
    for part in parts:
        part["jobs"][0]["job options"]["ramp_time"] = "10"
    assert [run.steps[0].measurements[-1].ios for run in imported(json.dumps(parts)).runs] == [5000]


def test_documents_without_a_time_are_said_to_be_a_guess():
    parts = [document(seconds=s) for s in (1, 2, 3)]
    for part in parts:
        del part["timestamp"], part["timestamp_ms"]
    (run,) = imported(FORMS["one a line"](parts)).runs
    assert "without times they cannot be told from 3 runs" in run.reports
    for part, s in zip(parts, (3.002, 3, 3.001), strict=True):
        part["jobs"][0]["read"]["runtime"] = round(s * 1000)
        part["jobs"][0]["read"]["total_ios"] = 3000
    assert len(imported(FORMS["one a line"](parts)).runs) == 3


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_document_that_is_cut_is_said_to_be_left_out(at):
    texts = [json.dumps(part, indent=1) for part in THREE]
    texts[at] = texts[at][:-200]
    found = imported("\n".join(texts))
    assert len(found.runs) == 2
    assert all("is not complete" in run.reports for run in found.runs)
    assert all("left out" in run.reports for run in found.runs)


def test_a_run_that_started_no_job_is_said_to_be_left_out():
    found = imported(FORMS["one a line"]([*THREE, document(jobs=[])]))
    assert len(found.runs) == 3
    assert "lists no job" in found.runs[0].reports


A_RUN = st.tuples(st.sampled_from("ab"), st.integers(1, 4), st.floats(4, 90), st.integers(1, 5000))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(A_RUN, min_size=1, max_size=6), st.sampled_from(sorted(FORMS)))
def test_any_sequence_of_runs_and_streams_is_counted(runs, form):
    parts, at = [], 1_790_000_000.0
    for name, reports, seconds, rate in runs:
        for report in range(1, reports + 1):
            ran = seconds * report / reports
            parts.append(document(name, at=at + ran, seconds=ran, rate=rate))
        at += seconds + 1
    rows = [run.steps[0].measurements[-1] for run in imported(FORMS[form](parts)).runs]
    assert [row.ios for row in rows] == [round(s * rate) for _, _, s, rate in runs]


# --- Terse lines and text


def line(name="a", *, group=0, kib=40_000, ms=1000, disk=100):
    """A terse line; `disk` are the reads of its disk, None: without one."""
    told = Told(name=name, group=group, iops=kib / 4 * 1000 / ms, seconds=ms / 1000, mean_us=420)
    return terse([told], [Disk("vda", reads=disk)] if disk else [])


TERSE = {
    "a loop": (line(kib=40_000, disk=1) + line(kib=40_400, disk=2), [1, 1]),
    "clones": (line() * 3, [3]),
    "two jobs": (line("a") + line("b"), [2]),
    "different jobs in a loop": (line("a", disk=1) + line("b", disk=2), [1, 1]),
    "groups that begin again": (
        (line("a", disk=None) + line("b", group=1, disk=None)) * 2
        + line("a", disk=None, kib=1) + line("b", group=1, disk=None),
        [2, 2],
    ),
    "other text between": (line(disk=None) + "run 2\n" + line(disk=None, kib=9), [1, 1]),
    "a stream": (
        "".join(line(kib=40_000 * s, ms=1000 * s, disk=s) for s in (1, 2, 3)), [1],
    ),
    "a stream of two, its end at once": (
        line(kib=40_000, disk=1) + line(kib=40_004, ms=1001, disk=2), [1],
    ),
    "two streams": (
        "".join(line(kib=40_000 * s, ms=1000 * s, disk=s) for s in (1, 2, 1, 2)), [1, 1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TERSE)
def test_terse_lines_are_those_of_their_runs(case):
    text, jobs = TERSE[case]
    found = imported(text, "x.txt")
    rows = [[row for step in run.steps for row in step.measurements] for run in found.runs]
    assert [sum(row.scope == "job" for row in of_run) for of_run in rows] == jobs


def test_terse_lines_that_cannot_be_told_apart_are_said_to_be():
    (run,) = imported(line(disk=None) * 2, "x.txt").runs
    assert "import each of them on its own" in run.reports
    (run,) = imported(line() * 2, "x.txt").runs
    assert run.reports == "", "one fio prints the same counters of its disks on each line"


@pytest.mark.parametrize("head", [True, False])
def test_text_that_was_appended_is_several_runs(head):
    found = imported("".join(text([Told(pid=pid)], head=head) for pid in (7, 8, 9)), "log.txt")
    assert len(found.runs) == 3
    again = imported(text([Told()]) + text([Told()], head=False), "log.txt")
    assert len(again.runs) == 1, "--status-interval: the same process again"
    assert "2 reports" in again.runs[0].reports


# --- Encodings, names and numbers


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"],
)
@pytest.mark.parametrize(
    "content", [FORMS["indented"](THREE), line() * 2, text([Told(pid=1)]) + text([Told(pid=2)])]
)
def test_a_file_in_any_unicode_is_the_same_file(content, encoding):
    plain, other = imported(content, "x"), imported(content.encode(encoding), "x")
    assert plain == other
    twice = content.encode(encoding) * 2  # a mark in the middle, as of `cat`
    assert as_utf8(twice).decode() == content * 2


NAMES = [
    "n" * 300, "n" * 100_000, "é" * 200, "..", "../../etc/passwd", "/", "a/b", "", " ", "\x1b[31m",
    "a\nb", "‮evil", "con", "a\\b", "x" * 80, "x" * 81, "🙂" * 90,
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:12]))
def test_any_name_of_a_job_becomes_a_step_with_a_folder(name):
    (run,) = imported(json.dumps(document(name))).runs
    step = run.steps[0].step
    assert 0 < len(step.name) <= LONGEST_NAME
    folder = step_folder(step.model_copy(update={"round": 1000})).removeprefix("steps/")
    assert len(folder) <= 255
    assert "/" not in folder
    assert step_folder(Step(index=0, name=name, job="", expected_s=0)).count("/") == 1


def test_groups_of_long_names_stay_apart():
    two = document("n" * 300)
    again = {**deepcopy(two["jobs"][0]), "groupid": 1}
    two["jobs"] += [again, {**again, "jobname": "m" * 300}]
    (run,) = imported(json.dumps(two)).runs
    assert [len(step.step.name) for step in run.steps] == [80, 80]
    assert run.steps[1].step.name.endswith("+1 jobs")


HOSTILE = ["9" * 5000, "-" + "9" * 5000, "1e400", "-1", "-1e400", "NaN", "Infinity", "-Infinity",
           "true", '"12"', "[]", "{}", "1e30", str(2**63), "0.5e999"]  # fmt: skip
COUNTS = ["total_ios", "io_bytes", "runtime", "short_ios", "drop_ios", "groupid", "error",
          "elapsed", "N", "min"]  # fmt: skip


@pytest.mark.parametrize("number", HOSTILE, ids=lambda number: number[:12])
@pytest.mark.parametrize("field", COUNTS)
def test_a_hostile_number_is_refused_in_words_about_the_file(field, number):
    parts = document()
    places = [parts["jobs"][0], parts["jobs"][0]["read"], parts["jobs"][0]["read"]["lat_ns"]]
    place = next(place for place in places if field in place)
    place[field] = "HERE"
    data = json.dumps(parts).replace('"HERE"', number)
    with pytest.raises(InvalidValue) as told:
        imported(data)
    assert field in told.value.message
    assert "set_int_max_str_digits" not in told.value.message + told.value.advice
    assert len(told.value.message) < 400


@pytest.mark.parametrize("number", HOSTILE, ids=lambda number: number[:12])
@pytest.mark.parametrize("field", ["timestamp", "timestamp_ms", "job_start", "iops", "usr_cpu"])
def test_a_hostile_time_or_rate_is_refused_or_left_out(field, number):
    parts = document()
    if field in ("iops", "usr_cpu", "job_start"):
        parts["jobs"][0]["read" if field == "iops" else "x"] = parts["jobs"][0]["read"]
        (parts["jobs"][0]["read"] if field == "iops" else parts["jobs"][0])[field] = "HERE"
    else:
        parts[field] = "HERE"
    data = json.dumps(parts).replace('"HERE"', number)
    try:
        found = imported(data)
    except InvalidValue as told:
        words = told.message
    else:
        words = ""
        assert found.runs[0].steps[0].measurements[-1].iops == pytest.approx(1000)
    assert "set_int_max_str_digits" not in words
