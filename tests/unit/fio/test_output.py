"""Reading fio's output: every case in tests/cases/fio_output, and whatever else may come; each
warning, just beyond and just within what calls for it."""

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.searching import examples

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.audit import run_warnings
from diskbench.fio.output import parse_output
from diskbench.fio.reported import DirectionStats, FioJob, FioOutput
from diskbench.fio.rows import measurements
from diskbench.fio.warnings import step_warnings
from diskbench.model.facts import DiskFacts, HostFacts, MountFacts
from diskbench.model.processor import MachineUse
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


DIRECT = "[j]\nrw=randread\nbs=4k\ndirect=1\nsize=1g\n"
BUFFERED = "[j]\nrw=randread\nbs=4k\nsize=1g\n"
FACTS = HostFacts(memory_bytes=2**33)
QUIET = MachineUse(busiest_core=0.2, steal=0.0)


def fake_output(*, ios=10_000, seconds=10, direction="read", **job):
    stats = DirectionStats(ios=ios, bytes=ios * 4096, runtime_ns=int(seconds * 1e9))
    fields = {"name": "j", "index": 0, "group": 0, "error": 0, "options": {}, **job}
    one = FioJob(directions={direction: stats}, **fields)
    return FioOutput(where="fio.json", version="fio-3.33", jobs=(one,), options={})


def warn(output=None, *, job=DIRECT, facts=FACTS, samples=QUIET, **step):
    output = output or fake_output()
    one = Step(index=0, name="s", job=job, expected_s=10, **step)
    rows = measurements(output, run_id="r", step=one)
    return {w.code: w for w in step_warnings(one, rows, output, facts, samples)}


def core(share, **more):
    return MachineUse(busiest_core=share, **more)


BY_PROCESSOR = {"client-bound", "machine-busy", "interrupts", "steal"}


@pytest.mark.parametrize(
    ("user", "system", "samples", "codes"),
    [
        (None, None, core(0.899), set()),
        (None, None, core(0.90), {"client-bound"}),
        (None, None, core(0.1, steal=0.019), set()),
        (None, None, core(0.1, steal=0.02), {"steal"}),
        (40.0, 49.0, None, set()),  # without samples fio's own account counts
        (40.0, 51.0, None, {"client-bound"}),
        (40.0, 49.0, QUIET, set()),  # a job may wander between cores
        (40.0, 51.0, QUIET, {"client-bound"}),
        (40.0, 9.0, core(0.95), {"machine-busy"}),  # something else filled the core
        (40.0, 11.0, core(0.95), {"client-bound"}),
        (10.0, 20.0, core(0.97, core_interrupts=0.8, core_steal=0.0), {"interrupts"}),
    ],
)
def test_whoever_fills_a_core_or_takes_time_is_named(user, system, samples, codes):
    found = warn(fake_output(usr_cpu=user, sys_cpu=system), samples=samples)
    assert set(found) & BY_PROCESSOR == codes
    if "interrupts" in codes:
        assert "80 %" in found["interrupts"].message
    if samples is QUIET and codes:
        assert "job j used 91 % of a core" in found["client-bound"].message


def test_neither_a_sound_step_nor_a_canary_that_fills_a_core_has_a_warning():
    assert warn() == {}
    assert warn(fake_output(usr_cpu=90.0, sys_cpu=9.0), samples=None, role="canary") == {}


def test_each_thing_that_used_the_processor_up_is_told_and_of_a_group_each_job():
    samples = MachineUse(busiest_core=0.95, steal=0.05)
    output = fake_output(usr_cpu=40.0, sys_cpu=58.0)
    one = Step(index=0, name="s", job=DIRECT, expected_s=10)
    rows = measurements(output, run_id="r", step=one)
    client, stolen = step_warnings(one, rows, output, FACTS, samples)
    assert (client.code, stolen.code) == ("client-bound", "steal")
    assert all(text in client.message for text in ("95 %", "98 %", "usr_cpu 40 %, sys_cpu 58 %"))
    assert "5.0 %" in stolen.message
    assert client.advice.count("fewer jobs") == 1
    job = DIRECT + "numjobs=4\ngroup_reporting=1\n"
    samples = MachineUse(busiest_core=0.95)
    found = warn(fake_output(usr_cpu=5.0, sys_cpu=10.0), job=job, samples=samples)
    assert "fewer jobs" in found["client-bound"].advice


@pytest.mark.parametrize(("job", "code"), [(BUFFERED, "page-cache"), (DIRECT, "unwritten")])
def test_reads_that_the_device_never_saw_came_from_the_cache_or_of_nothing(job, code):
    for share, codes in ((0.94, {code}), (0.96, set())):
        samples = MachineUse(device_read_bytes=int(10_000 * 4096 * share))
        assert set(warn(job=job, samples=samples)) == codes
        assert warn(job=job, samples=samples, page_cache="keep") == {}


def test_buffered_writes_may_still_be_in_memory():
    samples = MachineUse(device_write_bytes=0)
    job = BUFFERED.replace("randread", "randwrite")
    assert "page-cache" in warn(fake_output(direction="write"), job=job, samples=samples)
    direct = DIRECT.replace("randread", "randwrite")
    assert warn(fake_output(direction="write"), job=direct, samples=samples) == {}


@pytest.mark.parametrize(("size", "warned"), [("7g", True), ("8g", False), ("50%", False)])
def test_without_samples_buffered_files_below_memory_are_suspect(size, warned):
    assert ("page-cache" in warn(job=BUFFERED.replace("1g", size), samples=None)) == warned


@pytest.mark.parametrize(("share", "warned"), [(49.0, True), (51.0, False)])
def test_a_queue_that_was_not_filled(share, warned):
    levels = {1: 100 - share, 2: 0.0, 4: 0.0, 8: 0.0, 16: 0.0, 32: share, 64: 0.0}
    job = DIRECT + "iodepth=32\nioengine=libaio\n"
    assert ("queue-not-filled" in warn(fake_output(depth_levels=levels), job=job)) == warned
    assert warn(fake_output(depth_levels=levels), job=job + "rate_iops=100\n") == {}
    deep = {1: 0.0, 32: 10.0, 64: 90.0}  # fio counts all depths from 64 up as one
    assert warn(fake_output(depth_levels=deep), job=DIRECT + "iodepth=256\n") == {}


def test_buffered_io_of_libaio_has_no_depth_that_is_known():
    """Linux starts it one by one, whatever depth fio counts."""
    job = "[j]\nrw=randread\nioengine={}\niodepth=32\ndirect={}\nsize=1g\n"
    full = fake_output(depth_levels={32: 100.0})
    for engine, direct in product(("libaio", "posixaio", "io_uring"), (0, 1)):
        is_told = "queue-not-filled" in warn(full, job=job.format(engine, direct))
        assert is_told == ((engine, direct) == ("libaio", 0))
    fast = fake_output(ios=10 * 126_000)
    soon = {d: "not-a-disk" in warn(fast, job=job.format("libaio", d)) for d in (0, 1)}
    assert soon == {0: True, 1: False}, "7.9 µs each is memory"


@pytest.mark.parametrize(
    ("seconds", "told"), [((60.0, 60.0), False), ((56.0, 60.0), False), ((10.0, 60.0), True)]
)
def test_jobs_that_ran_for_different_times_are_told(seconds, told):
    jobs = [fake_output(seconds=s, index=at).jobs[0] for at, s in enumerate(seconds)]
    output = FioOutput(where="fio.json", version="fio-3.33", jobs=tuple(jobs), options={})
    assert ("unlike-times" in warn(output)) == told


@pytest.mark.parametrize(
    ("seconds", "ios", "warned"), [(1.9, 1000, True), (2.0, 1000, False), (10, 99, True)]
)
def test_a_run_that_is_too_short(seconds, ios, warned):
    assert ("too-short" in warn(fake_output(seconds=seconds, ios=ios))) == warned
    assert "too-short" not in warn(fake_output(seconds=seconds, ios=ios), role="fill")


def test_every_warning_names_its_step_and_what_to_do_next_and_a_network_filesystem_its_kind():
    found = warn(fake_output(error=5, ios=3), facts=HostFacts(network_filesystem=True))
    assert {"fio-error", "too-short", "network-filesystem"} <= set(found)
    assert all(w.step == "s" and w.advice and w.message for w in found.values())
    mount = MountFacts(mount_point="/n", source="s:/n", fstype="nfs4", options="rw")
    found = warn(facts=HostFacts(network_filesystem=True, mount=mount))
    assert "nfs4" in found["network-filesystem"].message


def test_memory_is_not_taken_for_a_disk():
    for kind in ("tmpfs", "ramfs", "ext4 zram0", "ext4 ram1", "ext4 sda"):
        fstype, _, disk = kind.partition(" ")
        mount = MountFacts(mount_point="/t", source="t", fstype=fstype, options="rw")
        facts = DiskFacts(name=disk, path=f"/dev/{disk}") if disk else None
        found = warn(facts=HostFacts(mount=mount, disk=facts))
        assert ("not-a-disk" in found) == (disk != "sda"), kind


def test_a_short_step_is_told_by_what_is_short():
    time = warn(fake_output(seconds=1, ios=452_005), job=DIRECT + "time_based\n")["too-short"]
    assert "1.00 s" in time.message
    assert "452,005" not in time.message
    assert "--size" not in time.advice
    count = warn(fake_output(seconds=10, ios=5))["too-short"]
    assert "5 I/Os" in count.message
    assert "10.00 s" not in count.message
    assert "--size" in count.advice


def test_a_wrong_clock_short_ios_no_io_and_an_error_of_fio_are_told_in_words():
    stats = DirectionStats(ios=1000, bytes=1, runtime_ns=10**10, short_ios=7)
    job = FioJob(name="j", index=0, group=0, error=0, options={}, directions={"read": stats})
    output = FioOutput(where="x", version="fio-3.33", jobs=(job,), options={})
    assert "7 of 1,000" in warn(output)["short-ios"].message
    assert "no-io" in warn(fake_output(ios=0))
    output = parse_output((CASES / "v3.33-error-etime.out").read_bytes(), where="fio.json")
    assert "timed out" in warn(output, job="[late]\nrw=randread\ndirect=1\n")["fio-error"].message
    told = {at: "clock" in warn(facts=HostFacts(clock_offset_s=at)) for at in (0.9, -1, 3, None)}
    assert told == {0.9: False, -1: True, 3: True, None: False}


def test_status_interval_alone_is_no_fault_but_a_lost_last_document_is():
    job = "[si]\nrw=read\ndirect=1\nrate_iops=50\n"
    for name, warned in (("v3.33-status-interval", False), ("truncated-last", True)):
        output = parse_output((CASES / f"{name}.out").read_bytes(), where="fio.json")
        assert ("degraded-output" in warn(output, job=job)) == warned


def run(iops, **row):
    output = fake_output(ios=int(iops * 10), **row)
    one = Step(index=0, name="s", job=DIRECT, expected_s=10)
    return measurements(output, run_id="r", step=one)


def test_runs_that_disagree_are_told_with_their_range_and_a_tenth_is_none():
    (found,) = run_warnings([run(3000), run(2990), run(100)])
    assert (found.code, found.step) == ("runs-disagree", "s")
    assert "from 100 IOPS (run 3) to 3,000 IOPS (run 1)" in found.message
    assert run_warnings([run(950), run(1000), run(1050)]) == ()
    assert len(run_warnings([run(930), run(1000), run(1060)])) == 1
    assert run_warnings([run(1000)]) == ()
    assert run_warnings([]) == ()
    assert run_warnings([run(0), run(0)]) == ()
