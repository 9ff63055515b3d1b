"""Reading fio's output: every case in tests/cases/fio_output, and whatever else may come."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.searching import examples

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.output import parse_output
from diskbench.fio.rows import measurements
from diskbench.fio.warnings import step_warnings
from diskbench.model.facts import HostFacts
from diskbench.model.spec import Step

CASES = Path(__file__).parents[2] / "cases" / "fio_output"
NAMES = sorted(path.stem for path in CASES.glob("*.out"))
STEP = Step(index=0, name="s", job="[global]\nrw=randrw\n[a]\n[b]\nfsync=4\n", expected_s=1)


def expected(name):
    return json.loads((CASES / f"{name}.json").read_text())


def output(name):
    return parse_output((CASES / f"{name}.out").read_bytes(), where=f"{name}.out")


@pytest.mark.parametrize("name", NAMES)
def test_a_case_is_read_as_expected(name):
    want = expected(name)
    if "error" in want:
        with pytest.raises(FioOutputUnreadable) as caught:
            output(name)
        assert caught.value.message.startswith(f"{name}.out: ")
        assert caught.value.advice
        for part in want["error"]:
            assert part in caught.value.message
        return
    got = output(name)
    assert got.version == want["version"]
    told, count = "; ".join(got.notes), want["documents"]
    assert (f"{count} documents" in told) == (count > 1)
    assert all(note in told for note in want["notes"]), told
    assert bool(got.notes) == bool(want["notes"]), told
    assert [(job.name, job.group, job.error) for job in got.jobs] == [
        (job["name"], job["group"], job["error"]) for job in want["jobs"]
    ]
    for job, wanted in zip(got.jobs, want["jobs"], strict=True):
        busy = {d: stats for d, stats in job.directions.items() if stats.ios}
        assert set(busy) == set(wanted["directions"])
        for direction, stats in busy.items():
            check_direction(stats, wanted["directions"][direction])


def check_direction(stats, wanted):
    assert (stats.ios, stats.bytes) == (wanted["ios"], wanted.get("bytes", 0))
    assert stats.runtime_ns == wanted.get("runtime_ms", 0) * 1_000_000
    assert stats.short_ios == wanted.get("short", stats.short_ios)
    for kind in ("lat", "clat", "slat"):
        latency = getattr(stats, kind)
        assert (latency is None) == (kind not in wanted)
        if latency:
            assert latency.mean_ns == wanted[kind]["mean_ns"]
            assert latency.max_ns == wanted[kind]["max_ns"]
            assert sum(latency.bins.values()) == wanted[kind]["in_bins"]
            assert latency.percentiles.get(50.0) == wanted[kind].get("p50_ns")


def test_versions_are_numbers_job_start_is_known_since_3_36_and_a_cut_end_is_interim():
    assert output("v3.16-two-jobs").version_numbers == (3, 16)
    assert output("v3.42-two-jobs").version_numbers > output("v3.39-two-jobs").version_numbers
    assert output("v3.33-two-jobs").jobs[0].start_ms is None
    start = output("v3.39-two-jobs").jobs[0].start_ms
    assert start is not None
    assert start > 1_700_000_000_000
    assert output("truncated-last").interim
    assert not output("v3.33-status-interval").interim


def test_a_client_result_has_its_hosts_and_all_clients_only_where_it_is_the_only_entry():
    jobs = output("v3.33-client").jobs
    assert [job.name for job in jobs] == ["a", "b"]
    assert {job.host for job in jobs} == {"127.0.0.1"}
    text = (CASES / "v3.33-client.out").read_text()
    document = json.loads(text[text.index("{\n") :])
    document["client_stats"] = document["client_stats"][-1:]
    got = parse_output(json.dumps(document).encode(), where="x")
    assert [job.name for job in got.jobs] == ["All clients"]


def read_all_the_way(data):
    """From bytes to warnings; only FioOutputUnreadable may come out."""
    try:
        got = parse_output(data, where="fuzz.json")
    except FioOutputUnreadable as unreadable:
        error = unreadable
    else:
        error = None
    if error:
        assert error.message.startswith("fuzz.json: ")
        return
    rows = measurements(got, run_id="r", step=STEP)
    step_warnings(STEP, rows, got, HostFacts(memory_bytes=2**33), None)


@settings(max_examples=examples(150), deadline=None)
@given(name=st.sampled_from(NAMES), cut=st.floats(0, 1))
def test_any_truncation_gives_a_result_or_a_clear_error(name, cut):
    data = (CASES / f"{name}.out").read_bytes()
    read_all_the_way(data[: int(len(data) * cut)])


@settings(max_examples=examples(150), deadline=None)
@given(
    name=st.sampled_from(["v3.33-two-jobs", "v3.41-group", "v3.33-status-interval"]),
    where=st.floats(0, 1),
    garbage=st.one_of(
        st.binary(min_size=1, max_size=12),
        st.sampled_from([b"{", b"}", b"[", b'"', b"-", b"9" * 400, b"1e999", b"null", b"\xff\n"]),
    ),
    length=st.integers(0, 12),
)
def test_any_garbage_gives_a_result_or_a_clear_error(name, where, garbage, length):
    data = (CASES / f"{name}.out").read_bytes()
    at = int(len(data) * where)
    read_all_the_way(data[:at] + garbage + data[at + length :])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
FIELDS = [
    "jobname", "groupid", "error", "read", "write", "sync", "total_ios", "runtime", "io_bytes",
    "lat_ns", "clat_ns", "bins", "percentile", "N", "mean", "min", "max", "stddev", "hostname",
    "usr_cpu", "sys_cpu", "job_runtime", "iodepth_level", "total_err", "ctx",
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(field=st.sampled_from(FIELDS), value=JSON, job=st.integers(0, 1))
def test_any_value_in_any_field_gives_a_result_or_a_clear_error(field, value, job):
    document = json.loads((CASES / "v3.33-two-jobs.out").read_text())

    def replace(node):
        if isinstance(node, dict):
            for key in node:
                if key == field:
                    node[key] = value
                else:
                    replace(node[key])

    replace(document["jobs"][job])
    read_all_the_way(json.dumps(document).encode())


@given(st.binary(max_size=200))
def test_any_bytes_give_a_clear_error(data):
    read_all_the_way(data)


def test_deep_nesting_is_a_clear_error():
    with pytest.raises(FioOutputUnreadable, match=r"deep|Expecting|ends in the middle"):
        parse_output(b'{"fio version":' + b'{"a":' * 100_000, where="deep.json")


@pytest.mark.parametrize(
    "field", ["usr_cpu", "read.iops", "read.bw_bytes", "read.total_ios", "read.lat_ns.mean"]
)
def test_a_figure_below_zero_is_refused_by_name(field):
    latency = {"min": 1, "max": 1, "mean": 1.0, "stddev": 0.0, "N": 1}
    read = {"total_ios": 1, "io_bytes": 1, "runtime": 1, "iops": 1.0, "lat_ns": latency}
    job = {"jobname": "a", "usr_cpu": 1.0, "read": read}
    document = {"fio version": "fio-3.33", "jobs": [job]}
    assert parse_output(json.dumps(document).encode(), where="x").jobs
    *path, last = field.split(".")
    place = job
    for name in path:
        place = place[name]
    place[last] = -1.5
    with pytest.raises(FioOutputUnreadable, match=rf"{last} is -1.5"):
        parse_output(json.dumps(document).encode(), where="x")
