"""Real outputs of each tool as rows, whole; and one run of fio, which all its forms tell alike.

tests/golden/imports.txt holds all that is read of each file. Its figures were compared with what
was worked out by hand from what each tool prints, before they were kept: units, counts, times and
latencies of each format and version (2026-11-28). Read its diff in the same way.
Those of others, changed, follow: what contradicts itself or stands around a result, and no result.
"""

import json
from pathlib import Path

import pytest
from tests.rigs.plans import call_fio

from diskbench.errors import FioOutputUnreadable, InvalidValue
from diskbench.fio.audit import audit_output
from diskbench.fio.text import parse_text
from diskbench.importers.registry import read_imported
from diskbench.store.import_sources import read_sources

CASES = Path(__file__).parents[2] / "cases"
FOLDERS = ("imports", "imported")
OF_THE_STEP = {"run_id", "step_index", "step", "round", "role", "job_index"}


def test_all_that_is_read_of_each_file_is_as_it_was_worked_out(golden):
    files = [path for folder in FOLDERS for path in sorted((CASES / folder).iterdir())]
    said = [
        line
        for path in files
        if path.is_file() and path.suffix != ".md"
        for line in told(path.name, read_imported(path.read_bytes(), name=path.name))
    ]
    golden.check("imports.txt", "\n".join(said))


def told(name, found):
    """All that was read of a file."""
    yield f"{name}: {found.kind} {found.tool_version} {dict(sorted(found.facts.items()))}"
    yield from (f"  note: {note}" for note in found.notes)
    for run in found.runs:
        yield f"  run: {run.started_at} to {run.finished_at}, {run.local_time}"
        yield from (f"    note: {note}" for note in run.notes)
        yield from ([f"    beside it: {run.reports}"] if run.reports else [])
        for step in run.steps:
            doubts = [warning.code for warning in step.warnings]
            compared = "compared" if step.compared else "not compared"
            yield f"    {step.step.name}: {compared}, {doubts}"
            yield from (f"      | {line}" for line in step.step.job.splitlines() if line)
            yield from (f"      {figures(row)}" for row in step.measurements)


def figures(row):
    """The fields of a row that its file says."""
    told_fields = ((k, v) for k, v in row if v is not None and k not in OF_THE_STEP)
    return " ".join(f"{k}={v:.9g}" if isinstance(v, float) else f"{k}={v}" for k, v in told_fields)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["normal", "terse-3", "terse-4", "terse-5"])
def test_the_same_run_in_json_and_in_another_form_gives_the_same_rows(form, tmp_path):
    kind, _, version = form.partition("-")
    form_of = (f"--output-format={kind},json", f"--terse-version={version or 3}", "--output=out")
    jobs = """--size=1m --ioengine=psync --name=a --rw=randrw --bs=8k
    --name=b --stonewall --rw=write --bs=64k --numjobs=2 --group_reporting"""
    call_fio(*form_of, *jobs.split(), at=tmp_path)
    text = (tmp_path / "out").read_text()
    begin, end = text.index("{"), text.rindex("}") + 1
    document = json.loads(text[begin:end])
    other = (text[:begin] + text[end:]).encode()
    one = read_imported(text[begin:end].encode(), name="x.json")
    two = read_imported(other, name="x.txt")
    assert one.kind == "fio-json"
    assert two.kind == ("fio-text" if kind == "normal" else "fio-terse")
    assert len(document["jobs"]) == 2
    for ours, theirs in zip(one.runs[0].steps, two.runs[0].steps, strict=True):
        assert ours.step.name == theirs.step.name
        left, right = (
            {row.direction: row for row in step.measurements if row.scope == "step"}
            for step in (ours, theirs)
        )
        assert left.keys() == right.keys()
        for direction, row in left.items():
            that = right[direction]
            assert (row.bytes, row.runtime_ns) == (that.bytes, that.runtime_ns)
            assert that.ios == row.ios
            assert that.clat_mean_ns == pytest.approx(row.clat_mean_ns, abs=20)
            assert that.clat_max_ns == pytest.approx(row.clat_max_ns, abs=1000)


CLIENT = CASES / "imports" / "fio-3.33-client.txt"
KIB = 2**10


def test_a_folder_of_bench_fio_gives_each_json_its_logs():
    sources, left_out = read_sources([CASES / "fio_plot/FLOPPY"])
    (source,) = sources
    assert source.name == "read-1-1.json"
    assert list(source.logs) == ["read-iodepth-1-numjobs-1_iops.1.log"]
    assert [path.name for path, _ in left_out] in ([], ["README.md"])
    run = read_imported(source.data, name=source.name).runs[0]
    (row,) = (r for s in run.steps for r in s.measurements if r.scope == "step")
    # 360 I/Os of 4 KiB are the 1,440 KiB of a floppy, in 114.153 s
    assert (row.ios, row.bytes, row.runtime_ns) == (360, 1440 * KIB, 114_153_000_000)
    assert row.iops == pytest.approx(3.153662)
    assert run.finished_at.startswith("2019-12-16T00:04:46.931")


def test_diskspds_report_of_a_failed_run_is_refused_and_says_so():
    path = CASES / "imports" / "refused/diskspd-2.3.0-no-result.xml"
    with pytest.raises(InvalidValue) as refused:
        read_imported(path.read_bytes(), name=path.name)
    assert refused.value.exit_code == 2
    assert "measured nothing" in refused.value.message


PERFKIT = (CASES / "imports" / "perfkit-t4g-small.json").read_text()
SAMPLES = json.loads(PERFKIT)


def read(text):
    return read_imported(text.encode(), name="x")


def test_repetitions_and_machines_of_perfkit_are_runs_of_their_own():
    again = json.dumps(SAMPLES).replace("|run_number:0|", "|run_number:1|")
    again = again.replace("189.553043", "189.6").replace("97051.0", "97075.0")
    found = read(json.dumps(SAMPLES + json.loads(again)))
    assert [run.steps[0].measurements[0].iops for run in found.runs] == [189.553043, 189.6]


def test_perfkits_samples_as_a_list_are_their_lines_contradictions_and_other_labels_no_block():
    assert read("\n".join(map(json.dumps, SAMPLES))) == read(json.dumps(SAMPLES, indent=2))
    with pytest.raises(InvalidValue, match="sequential_write:write:iops"):
        read(json.dumps([*SAMPLES, {**SAMPLES[-1], "value": 200.0}]))
    (run,) = read(PERFKIT.replace("|blocksize:512k|", "|blocksize:4k|")).runs
    assert run.steps[0].measurements[0].block_bytes is None
    assert not run.steps[0].compared


ETCD = """etcd: (g=0): rw=write, bs=(R) 2300B-2300B, (W) 2300B-2300B, (T) 2300B-2300B, ioengine=sync, iodepth=1
fio-3.19
etcd: (groupid=0, jobs=1): err= 0: pid=4: Wed Jul 15 02:14:39 2020
  write: IOPS=858, BW=1928KiB/s (1974kB/s)(29.0MiB/15937msec); 0 zone resets
     lat (usec): min=1, max=14349, avg=103.52, stdev=145.00
  IO depths    : 1=200.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=0,13677,0,0 short=0,0,0,0 dropped=0,0,0,0
"""  # noqa: E501
CUT = """t: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=posixaio, iodepth=64
fio-3.{version}
t: (groupid=0, jobs=1): err= 0: pid=4: Mon Feb 15 04:06:35 2021
   read: IOPS=15.7k, BW=61.5MiB/s (64.5MB/s)(3070MiB/49937msec)
  IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.5%, 32=86.7%, >=64=12.4%
"""  # noqa: E501


def text_of_fio(text):
    (run,) = read(text).runs
    return run.steps[0]


@pytest.mark.parametrize(("version", "fits"), [("3.0", True), ("3.19", True), ("3.26", False)])
def test_a_carry_that_fio_lost_before_3_26_is_no_contradiction(version, fits):
    """13,677 writes of 2,300 bytes are 30.0 MiB, printed as 29.0 (axboe/fio #1117)."""
    (output,) = parse_text(ETCD.replace("3.19", version).encode(), where="x")
    checks = audit_output(output, {}, end_known=False)
    assert next(check.holds for check in checks if check.name == "bytes") is fits


def test_ios_that_are_worked_out_of_a_rate_are_as_rough_as_it():
    """15.7k of 49.937 s are 784,011 I/Os, and 3070 MiB make 785,920."""
    (output,) = parse_text(CUT.format(version=33).encode(), where="x")
    assert all(check.holds is not False for check in audit_output(output, {}, end_known=False))


def test_text_from_the_code_of_a_page_is_read_without_its_blanks_and_with_its_depths():
    indented = "".join(f"    {line}\n" for line in CUT.format(version=16).splitlines())
    plain = text_of_fio(CUT.format(version=16))
    assert text_of_fio(f"$ fio, on an old machine:\n{indented}") == plain
    (doubt,) = text_of_fio(CUT.format(version=33)).warnings
    assert (doubt.code, "12 % of its I/Os" in doubt.message) == ("queue-not-filled", True)


# --- fio --client, whose servers differ, or whose output was cut


@pytest.mark.parametrize("name", ["fio-3.33-client.txt", "fio-3.33-client-terse5.txt"])
def test_an_output_without_one_of_its_servers_is_refused(name):
    lines = (CASES / "imports" / name).read_text().splitlines(keepends=True)
    begin = ("r: (groupid", "5;fio-3.33;r;")
    begins = [at for at, line in enumerate(lines) if line.startswith(begin)]
    assert len(begins) == 2
    cut = "".join([*lines[: begins[0]], *lines[begins[1] :]])
    with pytest.raises(InvalidValue) as refused:
        read_imported(cut.encode(), name=name)
    assert isinstance(refused.value.__cause__, FioOutputUnreadable)
    assert "All clients" in refused.value.message


def test_servers_whose_jobs_of_one_name_differ_have_no_options_in_common():
    """1,024 I/Os of 8 KiB and 1,024 of 4 KiB."""
    text = CLIENT.read_text()
    for old, new, count in (
        ("(R) 4096B-4096B, (W) 4096B-4096B", "(R) 8192B-8192B, (W) 8192B-8192B", 1),
        ("(4096KiB/2558msec)", "(8192KiB/2558msec)", 2),
        ("(8192KiB/2560msec)", "(12.0MiB/2560msec)", 2),
    ):
        assert old in text
        text = text.replace(old, new, count)
    (run,) = read_imported(text.encode(), name="x").runs
    for row in (r for step in run.steps for r in step.measurements if r.scope == "step"):
        assert (row.ios, row.bytes, row.rw, row.block_bytes) == (2048, 12 * 2**20, None, None)


def test_a_text_that_was_cut_before_the_sum_of_its_servers_says_so():
    text = CLIENT.read_text()
    whole, cut = read_imported(CLIENT.read_bytes(), name="x"), text[: text.index("All clients")]
    assert whole.runs[0].notes == ()
    (note,) = read(cut).runs[0].notes
    assert ("2 servers" in note, "All clients" in note) == (True, True)
