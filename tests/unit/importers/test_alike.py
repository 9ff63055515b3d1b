"""Reports are runs where their loads are alike, and steps of one run where they are not; what a
command says of a report; and what no disk does."""

from pathlib import Path

import pytest
from tests.rigs.fio_reports import FORMS, Disk, Told, as_json, terse, text, without_head

from diskbench.fio.audit import audit_output
from diskbench.fio.declared import is_direct
from diskbench.importers.fio_report import read_reports, report_steps
from diskbench.importers.fio_told import commands_in
from diskbench.importers.registry import read_imported

CASES = Path(__file__).parents[2] / "cases" / "imports"
A, B, C = Told(pid=1), Told(rw="randwrite", pid=2), Told(pid=3, depth=1, iops=800)


def imported(data, name="x.txt"):
    return read_imported(data.encode(), name=name)


def steps(found):
    return [[step.step.name for step in run.steps] for run in found.runs]


def apart(form, *jobs):
    again = [Told(**{**vars_of(job), "pid": at}) for at, job in enumerate(jobs, 1)]
    return "\n".join(FORMS[form]([job]) for job in again)


def vars_of(job):
    return {name: getattr(job, name) for name in job.__dataclass_fields__}


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("jobs", "names"),
    [
        ([A, A, A], [["job"], ["job"], ["job"]]),
        ([A, B], [["job-randread", "job-randwrite"]]),
        ([A, B, A, B], [["job-randread", "job-randwrite"]] * 2),
        ([A, A, B, B], [["job-randread"], ["job-randread", "job-randwrite"], ["job-randwrite"]]),
        ([A, C], [["job-qd32", "job-qd1"]]),
        ([A, Told(block=1 << 20, iops=9)], [["job-4k", "job-1m"]]),
        ([A, Told(jobs=4)], [["job-1jobs", "job-4jobs"]]),
        ([A, Told(name="other", rw="read")], [["job"], ["other"]]),
        ([A, Told(seconds=3600)], [["job"], ["job"]]),
    ],
)
def test_loads_of_one_name_are_steps_and_equal_loads_runs(form, jobs, names):
    assert steps(imported(apart(form, *jobs))) == names


@pytest.mark.parametrize("form", ["text without head", "json without options", "terse"])
def test_without_options_the_counts_tell_loads_apart(form):
    disks = ([Disk(reads=1)], [Disk(reads=2)], [Disk(reads=3)])
    jobs = [A, B, Told(block=16384, pid=3)]
    data = "\n".join(FORMS[form]([job], disk) for job, disk in zip(jobs, disks, strict=True))
    assert steps(imported(data)) == [["job-read-4k", "job-write-4k", "job-read-16k"]]


def test_options_that_change_the_work_and_groups_of_one_name_are_told_apart():
    jobs = [Told(pid=1, options={"direct": "1"}), Told(pid=2, options={"direct": "0"})]
    data = "\n".join(as_json([job]) for job in jobs)
    assert steps(imported(data)) == [["job-1", "job-2"]]
    sized = [Told(pid=p, options={"direct": "1", "size": s}) for p, s in ((1, "1g"), (2, "64g"))]
    data = "\n".join(as_json([job]) for job in sized)
    assert steps(imported(data)) == [["job-1g", "job-64g"]]
    jobs = [A, Told(rw="randwrite", group=1)]
    for data in (text(jobs), as_json(jobs)):
        assert steps(imported(data)) == [["job-randread", "job-randwrite"]]


def test_the_steps_of_a_run_are_found_again():
    found = report_steps("fio-text", apart("text", A, B, A, B).encode(), 1, where="x")
    names = ["job-randread", "job-randwrite"]
    assert [(step.index, step.name) for step, _ in found] == list(enumerate(names))


def direct_in(data, kind="fio-text"):
    outputs = read_reports(kind, data.encode(), where="x")
    return [is_direct(job, output, {}) for output in outputs for job in output.jobs]


COMMAND = "fio --name=job --rw=randread --bs=4k --iodepth=32 --ioengine=libaio --direct=1"


@pytest.mark.parametrize(
    "line",
    [
        COMMAND, f"$ {COMMAND}", f"root@host:~# {COMMAND} | tee out.txt", f"+ {COMMAND} > x 2>&1",
        COMMAND.replace(" --rw", " \\\n    --rw"), COMMAND.replace("--", "-"),
        f"sudo /usr/bin/{COMMAND}", f"time {COMMAND}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("report", [text, without_head, terse])
def test_a_command_says_whether_io_was_direct(line, report):
    kind = "fio-terse" if report is terse else "fio-text"
    assert direct_in(f"{line}\n{report([A])}", kind) == [True]


@pytest.mark.parametrize(
    "line",
    [
        "", COMMAND.replace("randread", "randwrite"), COMMAND.replace("4k", "8k"),
        COMMAND.replace("=32", "=16"), COMMAND.replace("libaio", "io_uring"),
        COMMAND.replace("name=job", "name=else"), "fio job.fio", "fio-3.33 --name=job",
        f"{COMMAND}\n{COMMAND.replace('direct=1', 'direct=0')}",
    ],
)  # fmt: skip
def test_a_command_of_another_job_says_nothing(line):
    assert direct_in(f"{line}\n{text([A])}") == [None]


def test_commands_are_of_the_reports_in_order_and_without_direct_buffered():
    commands = [COMMAND, COMMAND.replace("direct=1", "direct=0")]
    data = "\n".join(f"{c}\n{without_head([Told(pid=p)])}" for p, c in enumerate(commands, 1))
    assert direct_in(data) == [True, False]
    bare = COMMAND.replace(" --direct=1", "")
    assert direct_in(f"{bare}\n{text([A])}") == [False]
    assert direct_in(as_json([A]), "fio-json") == [True]
    assert direct_in(as_json([Told(options={})]), "fio-json") == [False]
    assert commands_in("no command here --name") == []


def test_fio_3_1_prints_one_rate_wrongly_and_the_other_rightly():
    """341.704 s of 4,096 MiB are 11.99 MiB/s, where it prints 11.0, and 12.57 MB/s: 12.6."""
    data = (CASES / "fio-3.1.txt").read_bytes()
    for output in read_reports("fio-text", data, where="x"):
        held = {check.name: check.holds for check in audit_output(output, {}, end_known=False)}
        assert (held["rate"], held["bytes"]) == (True, None), "a group may sum up several sections"
    assert steps(read_imported(data, name="x")) == [["myjob-write", "myjob-read"]]
    assert direct_in(data.decode()) == [True, True]


@pytest.mark.parametrize("mib_mb_version", ["11.99 12.6 3.33", "11.0 12.6 3.33", "11.0 11.5 3.1"])
def test_a_rate_that_neither_figure_makes_fails(mib_mb_version):
    mib, mb, version = mib_mb_version.split()
    data = (CASES / "fio-3.1.txt").read_text().replace("fio-3.1", f"fio-{version}")
    data = data.replace("11.0MiB/s (12.6MB/s)(", f"{mib}MiB/s ({mb}MB/s)(", 1)
    output = read_reports("fio-text", data.encode(), where="x")[0]
    held = {check.name: check.holds for check in audit_output(output, {}, end_known=False)}
    assert held["rate"] is (version == "3.33")


def codes(data, name="x.txt"):
    found = imported(data, name)
    return {w.code for run in found.runs for step in run.steps for w in step.warnings}


@pytest.mark.parametrize(
    ("job", "memory"),
    [
        (Told(engine="null", mean_us=50), True), (Told(mean_us=0.9), True),
        (Told(mean_us=1.1), False), (Told(rw="read", mean_us=0.9, options={}), False),
        (Told(rw="read", mean_us=0.29, options={}), True), (Told(rw="read", mean_us=0.9), True),
        (Told(engine="mmap", mean_us=0.2), False),
        (Told(rw="read", block=1 << 20, iops=480_000, mean_us=90), True),
        (Told(rw="read", block=1 << 20, iops=470_000, mean_us=90), False),
    ],
)  # fmt: skip
def test_what_no_disk_does_is_no_disk(job, memory):
    assert ("not-a-disk" in codes(as_json([job]), "x.json")) is memory


@pytest.mark.parametrize("form", FORMS)
def test_an_import_is_doubted_as_a_run_is(form):
    bare = {"text without head", "json without options", "terse"}
    assert codes(FORMS[form]([Told(mean_us=0.2)], ())) == {"not-a-disk"}
    few = codes(FORMS[form]([Told(rw="randwrite")], [Disk(writes=90_000)]))
    wanted = set() if form in bare or form == "json" else {"page-cache"}
    assert few == wanted, "direct writes are not judged, nor writes that may be gathered"


def test_text_around_a_document_is_no_damage_to_it():
    (step,) = imported(f"{text([A])}\n{as_json([A])}\n", "x.json").runs[0].steps
    assert step.warnings == ()


@pytest.mark.parametrize(
    ("reads", "options", "found"),
    [
        (180_400, {"direct": "1"}, True), (65_900, {"direct": "1"}, False),
        (66_200, {"direct": "1"}, True), (180_400, {}, False),
        (180_400, {"direct": "1", "ramp_time": "60"}, False),
        (180_400, {"direct": "1", "verify": "crc32c"}, False),
    ],
)  # fmt: skip
def test_reads_of_others_on_the_device_are_told(reads, options, found):
    data = as_json([Told(iops=1000, options=options)], [Disk(reads=reads)])
    assert ("other-io" in codes(data, "x.json")) is found


def test_a_text_does_not_say_whether_a_ramp_made_the_other_reads():
    assert codes(text([Told(iops=1000)], [Disk(reads=180_400)])) == set()
    line = COMMAND.replace("--iodepth=32", "--iodepth=32 --runtime=60")
    assert codes(f"{line}\n{text([Told(iops=1000)], [Disk(reads=180_400)])}") == {"other-io"}


@pytest.mark.parametrize("reads", [15_100, 14_000, 7000, 100])
def test_a_read_ahead_that_no_kernel_makes_is_memory(reads):
    job = Told(rw="read", block=65536, depth=1, engine="psync", iops=500)
    assert codes(text([job], [Disk(reads=reads)])) == ({"page-cache"} if reads <= 7000 else set())
